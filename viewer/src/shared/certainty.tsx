// How sure a decision is: what each answer would lead to, the bounds as a gauge, the nearest flips as a tornado.
import type { Choice } from "./data";
import { num, percent, percents, quantity } from "./format";

export function Answers({ choice, unit }: { choice: Choice; unit: string }) {
  if (!choice.answers.length) return null;
  return (
    <div class="answers scroll" tabIndex={0} role="region" aria-label="After each answer">
      <table>
        <thead><tr><th scope="col">if it answers</th><th scope="col">chance</th><th scope="col">then</th><th scope="col" class="number">loss from there</th></tr></thead>
        <tbody>
          {choice.answers.map((answer) => (
            <tr key={answer.answer}>
              <th scope="row">{answer.answer}</th>
              <td class="chance"><Bar share={answer.probability} /> {percent(answer.probability)}</td>
              <td>{answer.then}{answer.scope && <span class="scope">{answer.scope}</span>}</td>
              <td class="number">{quantity(answer.loss, unit)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Bar({ share }: { share: number }) {
  return <span class="bar" aria-hidden="true"><span style={{ width: `${100 * Math.min(1, Math.max(0, share))}%` }} /></span>;
}

export function Gauge({ choice, unit }: { choice: Choice; unit: string }) {
  const lower = num(choice.lower);
  const upper = num(choice.upper);
  if (!Number.isFinite(upper)) return <p class="certificate">{choice.certificate}</p>;
  const end = Math.max(upper * 1.15, 1e-9);
  const place = (x: number) => 100 * Math.min(1, Math.max(0, x / end));
  return (
    <div class="certificate">
      <svg class="gauge" width="100%" height="30" role="img" aria-label={`Between ${quantity(lower, unit)} and ${quantity(upper, unit)}`}>
        <rect class="ground" x="0" y="8" width="100%" height="8" rx="4" />
        <rect class="known" x={`${place(lower)}%`} y="6" width={`${Math.max(0.6, place(upper) - place(lower))}%`} height="12" rx="2" />
        <text x="0" y="29">0</text>
        <text x={`${place((lower + upper) / 2)}%`} y="29" text-anchor={place(upper) > 80 ? "end" : "middle"}>
          {upper - lower < 1e-9 ? quantity(upper, unit) : `${quantity(lower)} – ${quantity(upper, unit)}`}
        </text>
      </svg>
      <p>{choice.certificate}</p>
    </div>
  );
}

const FLIPS_SHOWN = 6;

export function Flips({ choice }: { choice: Choice }) {
  if (!choice.flips.length) return choice.nearest_flip ? <p class="nearest">{choice.nearest_flip}</p> : null;
  return (
    <div class="flips">
      <p class="nearest">{choice.nearest_flip}</p>
      <table aria-label="Where doubt in one belief changes the step">
        <thead><tr><th scope="col">doubt in</th><th scope="col">now and where it flips</th><th scope="col">to</th></tr></thead>
        <tbody>
          {choice.flips.slice(0, FLIPS_SHOWN).map((flip) => (
            <tr key={`${flip.belief} ${flip.at}`}>
              <th scope="row">{flip.belief}</th>
              <td>
                <span class="tornado" aria-hidden="true">
                  <span class="way" style={{ left: `${100 * Math.min(flip.now, flip.at)}%`, width: `${100 * Math.abs(flip.at - flip.now)}%` }} />
                  <span class="now" style={{ left: `${100 * flip.now}%` }} />
                  <span class="at" style={{ left: `${100 * flip.at}%` }} />
                </span>
                <span class="amount">{percents(flip.now, flip.at).join(" → ")}</span>
              </td>
              <td>{flip.to}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
