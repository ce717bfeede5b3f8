// What each threshold of a score is worth, from the data of `aquamend alarm`.
import { Curves, type Line } from "../shared/curves";
import type { Num } from "../shared/data";
import { num, quantity } from "../shared/format";

interface Threshold { at: Num; false_alarms: number; missed: number; loss: Num }
export interface Alarm { thresholds: Threshold[]; chosen: Threshold; unit: string }

export function AlarmCharts({ alarm: { thresholds, chosen, unit } }: { alarm: Alarm }) {
  const finite = thresholds.filter(({ at, loss }) => Number.isFinite(num(at)) && Number.isFinite(num(loss))).sort((a, b) => num(a.at) - num(b.at));
  if (!finite.length) return null;
  const line = (label: string, colour: string, read: (one: Threshold) => Num): Line => ({ label, colour, points: finite.map((one) => [num(one.at), read(one)]) });
  const calm = line("rings where nothing is wrong", "sensing", (one) => one.false_alarms);
  const missed: Line = { ...line("silent where something is", "bad", (one) => one.missed), dashed: true };
  const at = num(chosen.at);
  return (
    <>
      <h2>Expected loss of one occasion</h2>
      <p class="reading">What the recoveries cost that the alarm calls for, and what goes wrong where it is silent, by the problem's priors, against the threshold.</p>
      <figure><Curves label="expected loss by threshold" lines={[line("expected loss", "residual", (one) => one.loss)]} mark={{ at, value: num(chosen.loss), text: quantity(chosen.loss, unit) }} /></figure>
      <h2>False alarms and what is missed</h2>
      <p class="legend">
        {[calm, missed].map(({ label, colour, dashed }) => (
          <span key={label}><svg class="swatch" width="22" height="8" aria-hidden="true"><line x1="0" x2="22" y1="4" y2="4" stroke={`var(--${colour})`} stroke-width="3" stroke-dasharray={dashed ? "6 4" : undefined} /></svg> {label}</span>
        ))}
      </p>
      <figure><Curves label="false alarms and missed failures by threshold" most={1} lines={[calm, missed]} mark={{ at, value: chosen.false_alarms, text: "chosen" }} /></figure>
    </>
  );
}
