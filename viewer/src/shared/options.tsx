// What was weighed: each alternative's expected loss as what it costs more than the best, what all have in common in grey.
import { useState } from "preact/hooks";
import type { Choice, Option } from "./data";
import { num, quantity } from "./format";

const SHOWN = 6;
const COMMON = 16; // per cent of a bar that stand for what all alternatives cost anyway

export function Options({ choice, unit }: { choice: Choice; unit: string }) {
  const [all, showAll] = useState(false);
  const finite = choice.options.map((option) => num(option.loss)).filter(Number.isFinite);
  const best = Math.min(...finite);
  const rows = choice.options.filter((option, i) => all || i < SHOWN || option.chosen);
  const most = Math.max(...rows.map((option) => num(option.loss)).filter(Number.isFinite)) - best;
  if (!choice.options.length) return null;
  return (
    <div class="options">
      <table aria-label="What was weighed">
        <thead>
          <tr>
            <th scope="col">alternative</th>
            <th scope="col" class="wide">more than the least{Number.isFinite(best) && <span class="common-key"> {quantity(best, unit)} in common</span>}</th>
            <th scope="col" class="number">expected loss</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((option) => <Row key={option.name + option.scope} {...{ option, best, most, unit }} />)}
        </tbody>
      </table>
      {choice.options.length > rows.length && (
        <button type="button" class="more" onClick={() => showAll(true)}>{choice.options.length - rows.length} more, all more costly</button>
      )}
    </div>
  );
}

function Row({ option, best, most, unit }: { option: Option; best: number; most: number; unit: string }) {
  const excess = num(option.loss) - best;
  const share = !Number.isFinite(excess) ? 1 : most > 0 ? excess / most : 0;
  const parts = split(option, unit);
  const none = excess < 1e-9;
  return (
    <tr class={option.chosen ? "chosen" : ""} title={parts}>
      <th scope="row">
        {option.chosen && <span class="mark">✓ </span>}{option.name}{option.chosen && <span class="hidden"> (chosen)</span>}
        {option.scope && <span class="scope">{option.scope}</span>}
      </th>
      <td class="wide">
        <span class="track" aria-hidden="true">
          <span class="common" style={{ width: `${COMMON}%` }} />
          <span class={`excess${Number.isFinite(excess) ? "" : " endless"}`} style={{ width: `${(100 - COMMON) * share}%` }} />
        </span>
        <span class="amount">{none ? "least" : Number.isFinite(excess) ? `+${quantity(excess, unit)}` : "infinite"}</span>
      </td>
      <td class="number">{quantity(option.loss, unit)}<span class="parts">{parts}</span></td>
    </tr>
  );
}

function split(option: Option, unit: string): string {
  const parts = [["sensing", option.sensing], ["recovery", option.recovery], ["left wrong", option.residual]] as const;
  return parts.filter(([, part]) => part !== null && num(part) > 0).map(([name, part]) => `${name} ${quantity(part!, unit)}`).join(" + ");
}
