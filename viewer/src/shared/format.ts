// How numbers read: as in the terminal (aquamend/text.py), so that page and terminal say the same.
import type { Num } from "./data";

export const num = (value: Num): number => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);

export function quantity(value: Num, unit = ""): string {
  const x = num(value);
  if (!Number.isFinite(x)) return "infinite";
  return `${figures(x)} ${unit}`.trimEnd();
}

function figures(x: number): string {
  if (x === 0) return "0";
  if (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e9) return x.toPrecision(3);
  const decimals = Math.min(20, Math.max(2, 2 - Math.floor(Math.log10(Math.abs(x)))));
  const text = x.toFixed(decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function percent(p: number): string {
  const hundredths = Math.round(1e9 * p) / 1e7;
  if (p <= 0 || p >= 1) return p <= 0 ? "0%" : "100%";
  if (hundredths < 0.1) return "<0.1%";
  if (hundredths > 99.9) return ">99.9%";
  return hundredths < 9.95 || hundredths >= 99.5 ? `${(Math.floor(10 * hundredths + 0.5) / 10).toFixed(1)}%` : `${Math.floor(hundredths + 0.5)}%`;
}

// Two probabilities with as few digits as tell them apart: 32.1% and 32.4%, not 32% and 32%.
export function percents(p: number, q: number): [string, string] {
  let texts: [string, string] = [percent(p), percent(q)];
  for (let digits = 1; digits <= 4 && p !== q && texts[0] === texts[1]; digits++) texts = [`${(100 * p).toFixed(digits)}%`, `${(100 * q).toFixed(digits)}%`];
  return texts;
}

// A time on the clock of a story: seconds of a simulation, or the time of day where the calendar is known.
export function clock(time: number, began: number | null): string {
  if (began === null) return `${time.toFixed(1)} s`;
  return new Date(1000 * (began + time)).toISOString().slice(11, 23);
}

export function plural(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
