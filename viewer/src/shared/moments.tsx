// What happened, moment by moment; a decision opens into all that it was weighed against.
import { Answers, Flips, Gauge } from "./certainty";
import type { Choice, Moment } from "./data";
import { clock } from "./format";
import { Options } from "./options";

// One word and one colour for one idea, on every page.
export const WORDS: Record<string, string> = {
  believed: "believed", acted: "acted", alarm: "alarm", measured: "measured", decided: "decided", asked: "a person", trouble: "trouble", ended: "end", unseen: "unseen",
};

export function Moments({ moments, unit, began }: { moments: Moment[]; unit: string; began: number | null }) {
  const only = moments.length === 1;
  return (
    <ol class="moments">
      {moments.map((moment, i) => (
        <li key={i} class={`moment ${moment.kind}${moment.bad ? " bad" : ""}`}>
          {!only && <p class="when"><span class="time">{clock(moment.time, began)}</span> <span class="kind">{plain(moment) ? moment.title : WORDS[moment.kind] ?? moment.kind}</span></p>}
          {!plain(moment) && <h3>{moment.title}</h3>}
          {moment.text && <p>{moment.text}</p>}
          {moment.picture && <img src={moment.picture} alt={`The scene: ${moment.title}`} loading="lazy" />}
          {moment.choice && <Decision choice={moment.choice} unit={unit} heading={moment.text} />}
        </li>
      ))}
    </ol>
  );
}

// A moment of a session's log says in its title what kind it is; a decision's is the step.
const plain = (moment: Moment) => moment.number !== null && moment.choice === null;

export function Decision({ choice, unit, heading }: { choice: Choice; unit: string; heading: string }) {
  return (
    <div class="decision">
      {choice.why && choice.why !== heading && <p class="why">{choice.why}</p>}
      <Options choice={choice} unit={unit} />
      {choice.answers.length > 0 && <details><summary>What each answer would lead to</summary><Answers choice={choice} unit={unit} /></details>}
      {(choice.flips.length > 0 || choice.nearest_flip || choice.certificate) && (
        <details><summary>How sure this is</summary><Gauge choice={choice} unit={unit} /><Flips choice={choice} /></details>
      )}
    </div>
  );
}
