// What it cost: the total by its kinds, and every act in order, with a bar where it stands in time.
import type { Receipt } from "./data";
import { leaves } from "./data";
import { num, quantity } from "./format";

const CHARGES: Record<string, string> = {
  sensing: "what was measured",
  rollback: "what was undone",
  continuation: "what was done again or done on, or handed over",
  residual: "what was left wrong",
};

export function Total({ receipts, unit, full }: { receipts: Receipt[]; unit: string; full?: number }) {
  const parts = Object.keys(CHARGES).map((charge) => [charge, leaves(receipts).filter((one) => one.charge === charge).reduce((sum, one) => sum + num(one.cost), 0)] as const).filter(([, cost]) => cost > 0);
  const total = parts.reduce((sum, [, cost]) => sum + cost, 0);
  const whole = full !== undefined && Number.isFinite(full) && full > 0 ? full : total;
  return (
    <figure class="total">
      <figcaption>Total cost <b><data value={String(total)}>{quantity(total, unit)}</data></b></figcaption>
      <div class="stacked" role="img" aria-label={parts.map(([charge, cost]) => `${charge} ${quantity(cost, unit)}`).join(", ") || "nothing"}>
        {parts.map(([charge, cost]) => <span key={charge} class={charge} style={{ width: `${Number.isFinite(cost) ? (100 * cost) / whole : 100}%` }} />)}
      </div>
      <ul class="legend">
        {parts.map(([charge, cost]) => <li key={charge}><span class={`swatch ${charge}`} /> {charge}: {CHARGES[charge]} <b>{quantity(cost, unit)}</b></li>)}
      </ul>
    </figure>
  );
}

export function Ledger({ receipts, unit }: { receipts: Receipt[]; unit: string }) {
  const every = leaves(receipts);
  const times = every.flatMap(({ start_s, end_s }) => (start_s === null || end_s === null ? [] : [start_s, end_s]));
  const [start, end] = [Math.min(...times), Math.max(...times)];
  const span = end > start ? end - start : 1;
  const timed = times.length > 0;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Every act and its cost">
      <table class="ledger">
        <thead><tr><th scope="col">act</th><th scope="col">kind</th>{timed && <th scope="col" class="strip">when</th>}<th scope="col">found</th><th scope="col" class="number">cost</th></tr></thead>
        <tbody>
          {every.map((one, i) => (
            <tr key={i} class={one.succeeded ? "" : "bad"}>
              <th scope="row">{one.what}</th>
              <td><span class={`swatch ${one.charge}`} /> {one.charge}</td>
              {timed && <td class="strip">{one.start_s !== null && one.end_s !== null && (
                <span class="track" title={`${one.start_s.toFixed(1)} to ${one.end_s.toFixed(1)} s`}>
                  <span class={one.charge} style={{ left: `${(100 * (one.start_s - start)) / span}%`, width: `${Math.max(0.8, (100 * (one.end_s - one.start_s)) / span)}%` }} />
                </span>
              )}</td>}
              <td>{one.succeeded ? "" : "failed: "}{found(one.finding)}</td>
              <td class="number">{quantity(one.cost, unit)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const found = (finding: Receipt["finding"]) => (finding === null || finding === "" ? "–" : typeof finding === "number" ? Number(finding.toPrecision(6)).toString() : finding);
