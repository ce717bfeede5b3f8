// Who decides: one of the policies that the program knows, or of a family with a number, such as lookahead-K, with its number.
import { useState } from "preact/hooks";
import type { Family } from "./data";

export interface Choosable { policies: string[]; families: Family[] }

// The family that a name belongs to, and its number; null where it is a policy by itself.
export function familyOf(name: string, families: Family[]): { family: Family; number: number } | null {
  for (const family of families) {
    const number = Number(name.slice(family.prefix.length));
    if (name.startsWith(family.prefix) && name.length > family.prefix.length && Number.isFinite(number)) return { family, number };
  }
  return null;
}

interface Choice extends Choosable { value: string; label: string; set: (name: string) => void; none?: string }

// `none` is what stands for no policy at all, where that can be chosen.
export function PolicyChoice({ value, label, set, none, policies, families }: Choice) {
  const found = familyOf(value, families);
  return (
    <span class="policy">
      <label>{label} <select value={found ? found.family.prefix : value} onChange={(event) => {
        const family = families.find(({ prefix }) => prefix === event.currentTarget.value);
        set(family ? `${family.prefix}${family.usual}` : event.currentTarget.value);
      }}>
        {none !== undefined && <option value="">{none}</option>}
        {policies.map((name) => <option key={name} value={name}>{name}</option>)}
        {families.map(({ prefix, letter }) => <option key={prefix} value={prefix}>{prefix}{letter}</option>)}
      </select></label>
      {found && <Numbered key={found.family.prefix} {...found} label={label} set={set} />}
    </span>
  );
}

// What is typed counts once it is a number of the family: "0." on the way to "0.1" is none yet.
function Numbered({ family, number, label, set }: { family: Family; number: number; label: string; set: (name: string) => void }) {
  const [typed, setTyped] = useState(String(number));
  return (
    <label>{family.letter} <input
      type="number" class="number-of" value={typed} min={family.low} max={family.high ?? undefined} step={family.step} aria-label={`${family.letter} of ${family.prefix}${family.letter} (${label})`}
      onInput={(event) => {
        const field = event.currentTarget;
        setTyped(field.value);
        if (field.value !== "" && field.validity.valid) set(`${family.prefix}${Number(field.value)}`);
      }}
    /></label>
  );
}
