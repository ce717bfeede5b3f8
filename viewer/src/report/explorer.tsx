// Every scenario of a run, two policies side by side: which differ most, and what happened in each.
import { useState } from "preact/hooks";
import type { Num } from "../shared/data";
import { num } from "../shared/format";

interface Row {
  seed: number; scenario: number; group: number; values: (Num | null)[][]; counts: (Num | null)[][];
  endings?: number[]; steps?: string[][]; truth?: string[]; story?: string;
}
export interface Suite {
  name: string; suite: string; names: string[]; subject: string; policies: string[]; measures: string[]; counts: string[];
  endings: string[]; groups: string[]; pair: [number, number]; some_steps: boolean; rows: Row[];
}
interface Found { row: Row; gap: number | null }
interface View { suite: Suite; measure: number; group: string; left: number; right: number; order: string; page: number }

const PAGE = 50;
const TIE = 5e-10; // values that tie to nine decimals are equal in the data; what floating point makes of their difference is less

export function shown(value: Num | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return "–";
  const x = num(value);
  return (Number.isFinite(x) ? x.toFixed(digits) : x > 0 ? "infinite" : "-infinite").replace("-", "−");
}

export function signed(gap: number | null): string {
  if (gap === null) return "–";
  if (Math.abs(gap) < TIE) return "0.000";
  return (gap > 0 ? "+" : "") + (Math.abs(gap) < 5e-4 ? gap.toPrecision(2).replace("-", "−") : shown(gap));
}

function difference(row: Row, { measure, left, right }: View): number | null {
  const [a, b] = [row.values[measure]?.[left] ?? null, row.values[measure]?.[right] ?? null];
  return a === null || b === null ? null : a === b ? 0 : num(a) - num(b);
}

const size = (gap: number | null) => (gap === null ? -1 : Math.abs(gap));
const ORDERS: Record<string, (a: Found, b: Found) => number> = {
  size: (a, b) => size(b.gap) - size(a.gap),
  right: (a, b) => (b.gap ?? -Infinity) - (a.gap ?? -Infinity),
  left: (a, b) => (a.gap ?? Infinity) - (b.gap ?? Infinity),
  number: () => 0,
};

export function picked(view: View): Found[] {
  const found = view.suite.rows.filter((row) => view.group === "" || row.group === Number(view.group)).map((row) => ({ row, gap: difference(row, view) }));
  return found.sort((a, b) => ORDERS[view.order]!(a, b) || a.row.seed - b.row.seed || a.row.scenario - b.row.scenario);
}

export const startingWith = (suite: Suite): View => ({ suite, measure: 0, group: "", left: suite.pair[0], right: suite.pair[1], order: "size", page: 0 });

function Choice({ title, options, value, change }: { title: string; options: [key: string | number, label: string][]; value: string | number; change: (key: string) => void }) {
  return <label>{title}<select value={String(value)} onChange={(event) => change(event.currentTarget.value)}>{options.map(([key, label]) => <option key={key} value={String(key)}>{label}</option>)}</select></label>;
}

export function Explorer({ suites, watched }: { suites: Suite[]; watched: string }) {
  const [view, setView] = useState(() => startingWith(suites[0]!));
  const { suite, page } = view;
  const change = (part: Partial<View>) => setView({ ...view, page: 0, ...part });
  const named = suite.policies.map((name, i): [number, string] => [i, name]);
  const [left, right] = [suite.policies[view.left]!, suite.policies[view.right]!];
  const rows = picked(view);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const differ = rows.filter(({ gap }) => gap !== null && Math.abs(gap) > TIE).length;
  const grouped = suite.groups.length > 1;
  return (
    <>
      <div class="choices">
        <Choice title="Suite" options={suites.map(({ name }, i) => [i, name])} value={suites.indexOf(suite)} change={(key) => setView({ ...startingWith(suites[Number(key)]!), order: view.order })} />
        <Choice title="Compare" options={named} value={view.left} change={(key) => change({ left: Number(key) })} />
        <Choice title="with" options={named} value={view.right} change={(key) => change({ right: Number(key) })} />
        <Choice title="by" options={suite.measures.map((name, i) => [i, name])} value={view.measure} change={(key) => change({ measure: Number(key) })} />
        {grouped && <Choice title="Group" options={[["", "all"], ...suite.groups.map((name, i): [number, string] => [i, name])]} value={view.group} change={(group) => change({ group })} />}
        <Choice title="First" options={[["size", "largest difference"], ["right", `${left} most above`], ["left", `${left} most below`], ["number", "in order"]]} value={view.order} change={(order) => change({ order })} />
      </div>
      <div class="pages" aria-live="polite">
        <button type="button" disabled={page === 0} onClick={() => change({ page: page - 1 })}>Previous</button>
        <button type="button" disabled={page + 1 >= pages} onClick={() => change({ page: page + 1 })}>Next</button>
        <span>{differ} of {rows.length} differ; page {page + 1} of {pages}</span>
      </div>
      <div class="scroll">
        <table>
          <thead><tr><th scope="col">scenario</th>{grouped && <th scope="col">group</th>}{[left, right, "difference"].map((head, i) => <th key={i} scope="col" class="number">{head}</th>)}</tr></thead>
          <tbody>{rows.slice(page * PAGE, (page + 1) * PAGE).map((found) => <Line key={`${suite.name} ${found.row.seed} ${found.row.scenario}`} {...{ found, view, watched }} />)}</tbody>
        </table>
      </div>
    </>
  );
}

function Line({ found: { row, gap }, view, watched }: { found: Found; view: View; watched: string }) {
  const [open, setOpen] = useState(false);
  const { suite } = view;
  const values = row.values[view.measure] ?? [];
  return (
    <>
      <tr class={open ? "row open" : "row"} onClick={() => setOpen(!open)}>
        <th scope="row"><button type="button" aria-expanded={open}>seed {row.seed}, no. {row.scenario}</button></th>
        {suite.groups.length > 1 && <td>{suite.groups[row.group]}</td>}
        <td class="number">{shown(values[view.left])}</td><td class="number">{shown(values[view.right])}</td><td class="number">{signed(gap)}</td>
      </tr>
      {open && <tr class="detail"><td colSpan={8}><Inside {...{ row, suite, watched }} /></td></tr>}
    </>
  );
}

function Inside({ row, suite, watched }: { row: Row; suite: Suite; watched: string }) {
  const watchable = watched !== "" && /^(pouring|q1)-/.test(suite.suite);
  const watch = (policy: string) => `${watched}?${new URLSearchParams({ suite: suite.suite, seed: String(row.seed), scenario: String(row.scenario), policy })}`;
  return (
    <div class="inside">
      {row.truth && row.truth.length > 0 && <p><strong>What was true. </strong>{row.truth.join(" · ")}</p>}
      <table>
        <thead>
          <tr>
            <th scope="col">{suite.subject}</th>
            {[...suite.measures, ...suite.counts].map((head) => <th key={head} scope="col" class="number">{head}</th>)}
            {row.endings && <th scope="col">ending</th>}{row.steps && <th scope="col">steps</th>}
          </tr>
        </thead>
        <tbody>
          {suite.policies.map((policy, i) => (
            <tr key={policy}>
              <th scope="row">{policy}</th>
              {row.values.map((values, k) => <td key={`value ${k}`} class="number">{shown(values[i])}</td>)}
              {row.counts.map((values, k) => <td key={`count ${k}`} class="number">{shown(values[i], 2)}</td>)}
              {row.endings && <td>{suite.endings[row.endings[i]!] ?? "–"}</td>}
              {row.steps && <td class="steps long">{row.steps[i]?.join(" → ") || "–"}</td>}
              {watchable && <td><a href={watch(suite.names[i]!)} target="_blank">story and replay</a></td>}
            </tr>
          ))}
        </tbody>
      </table>
      {row.story && <p><a href={row.story}>The story of this scenario, and its replay in 3-D</a></p>}
      {!row.steps && suite.some_steps && <p>Steps are kept for the scenarios that differ most, to keep the page small.</p>}
    </div>
  );
}
