// What was declared, and how much it was doubted after each update.
import type { Statement, Update } from "./data";
import { percent } from "./format";

export function Statements({ statements, updates }: { statements: Statement[]; updates: Update[] }) {
  if (!statements.length) return null;
  const known = statements.some((statement) => statement.wrong !== null);
  return (
    <div class="scroll statements" tabIndex={0} role="region" aria-label="What was declared">
      <table>
        <thead>
          <tr>
            <th scope="col">declared</th><th scope="col">value</th><th scope="col">from</th><th scope="col">doubt after each update</th><th scope="col" class="number">in the end</th>
            {known && <th scope="col">in truth</th>}
          </tr>
        </thead>
        <tbody>
          {statements.map((statement) => {
            const doubts = updates.map((update) => update.doubts[statement.name] ?? null);
            const last = doubts.findLast((doubt) => doubt !== null) ?? null;
            const spoken = doubts.map((doubt, i) => `${updates[i]!.when}: ${doubt === null ? "unknown" : percent(doubt)}`).join("; ");
            return (
              <tr key={statement.name}>
                <th scope="row">{statement.name}</th>
                <td>{statement.value || "–"}</td>
                <td>{statement.support.join(", ") || "–"}</td>
                <td><Columns doubts={doubts} label={spoken} /></td>
                <td class="number">{last === null ? "unknown" : percent(last)}</td>
                {known && <td>{statement.wrong === null ? "" : statement.wrong ? <span class="wrong">✗ was wrong</span> : "✓ held"}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Columns({ doubts, label }: { doubts: (number | null)[]; label: string }) {
  return (
    <svg class="columns" width={Math.max(20, 11 * doubts.length)} height="26" role="img" aria-label={label}>
      <title>{label}</title>
      {doubts.map((doubt, i) => (
        <g key={i}>
          <rect class="ground" x={11 * i} y="0" width="8" height="26" />
          {doubt !== null && <rect class="doubt" x={11 * i} y={26 - Math.max(1, 26 * doubt)} width="8" height={Math.max(1, 26 * doubt)} />}
        </g>
      ))}
    </svg>
  );
}
