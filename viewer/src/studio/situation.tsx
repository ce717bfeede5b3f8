// The situation: what is known so far, the graph, what a probe might answer, the decision, the knobs.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Answers, Flips, Gauge } from "../shared/certainty";
import { percent, quantity } from "../shared/format";
import { Graph } from "../shared/graph";
import { Options } from "../shared/options";
import type { Knob, Observation, ProbeAnswers, Tick, View } from "./data";

const written = (outcome: string | number) => (typeof outcome === "number" ? Number(outcome.toPrecision(6)).toString() : outcome);

export function Evidence({ observed, back }: { observed: Observation[]; back: (length: number) => void }) {
  if (!observed.length) return null;
  return (
    <p class="evidence" aria-label="What if">
      <b>What if</b>
      {observed.map(({ probe, outcome }, i) => (
        <button key={i} type="button" class="chip" onClick={() => back(i)} title="Back to before this answer">{probe} = {written(outcome)} <span aria-hidden="true">×</span></button>
      ))}
      <button type="button" class="quiet" onClick={() => back(0)}>back to the beginning</button>
    </p>
  );
}

export function DecisionCard({ view, busy }: { view: View; busy: boolean }) {
  const { choice } = view;
  return (
    <section class={`card decision${busy ? " busy" : ""}`} aria-live="polite" aria-label="The next step">
      <p class="eyebrow">next step</p>
      <h2 class="step">{choice.step}</h2>
      {choice.scope && <p class="scope">{choice.scope}</p>}
      <p class="why">{choice.why}</p>
      {choice.nearest_flip && <p class="nearest"><b>Nearest flip.</b> {choice.nearest_flip}</p>}
    </section>
  );
}

export function Weighed({ view }: { view: View }) {
  const { choice, unit } = view;
  return (
    <section class="card" aria-label="What was weighed">
      <h2>Alternatives</h2>
      <Options choice={choice} unit={unit} />
      <h2>How good it can be</h2>
      <Gauge choice={choice} unit={unit} />
      {choice.flips.length > 0 && <><h2>What would flip it</h2><Flips choice={{ ...choice, nearest_flip: "" }} /></>}
      {choice.answers.length > 0 && <details><summary>What each answer would lead to</summary><Answers choice={choice} unit={unit} /></details>}
    </section>
  );
}

// Whoever picks by the keyboard goes on in the panel that opens, and comes back to the graph with Escape.
export function Picture({ view, picked, pick, observe }: { view: View; picked: string | null; pick: (name: string | null) => void; observe: (seen: Observation) => void }) {
  const card = useRef<HTMLElement>(null);
  const byKey = useRef(false);
  const back = (event: KeyboardEvent) => {
    byKey.current = event.key === "Enter" || event.key === " ";
    if (event.key !== "Escape" || picked === null) return;
    card.current!.querySelector<HTMLElement>(".node[aria-pressed=true]")?.focus();
    pick(null);
  };
  useLayoutEffect(() => {
    if (picked !== null && byKey.current) card.current!.querySelector<HTMLElement>(".panel")?.focus();
    byKey.current = false;
  }, [picked]);
  const probe = view.probes.find(({ name }) => name === picked);
  const undoing = view.corrections.find(({ belief }) => belief === picked);
  return (
    <section class="card picture" aria-label="Recovery graph" ref={card} onKeyDown={back} onPointerDown={() => (byKey.current = false)}>
      <Graph nodes={view.nodes} edges={view.edges} picked={picked} onPick={pick} />
      {probe && <ProbePanel key={probe.name} probe={probe} unit={view.unit} observe={observe} />}
      {undoing && (
        <p class="panel" tabIndex={-1}><b>{undoing.belief}</b> is wrong with {percentOf(view.doubts[undoing.belief])}. {undoing.undo.length ? `Correcting it undoes ${undoing.undo.join(", ")}: ${quantity(undoing.cost, view.unit)}.` : `Nothing that was done rests on it${undoing.cost === "inf" ? ", and it cannot be corrected" : ": correcting it is free"}.`}</p>
      )}
      {!picked && <p class="hint">Click a probe to see what it may answer, a belief to see what rests on it.</p>}
    </section>
  );
}

const percentOf = (p: number | null | undefined) => (p === null || p === undefined ? "an unknown probability" : percent(p));

function ProbePanel({ probe, unit, observe }: { probe: ProbeAnswers; unit: string; observe: (seen: Observation) => void }) {
  if (probe.why_illegal) return <p class="panel" tabIndex={-1}><b>{probe.name}</b> cannot be run now: {probe.why_illegal}.</p>;
  return (
    <div class="panel" role="group" tabIndex={-1} aria-label={`What if ${probe.name} answers`}>
      <p><b>{probe.name}</b>, {quantity(probe.cost, unit)}. What if it answers …</p>
      {probe.answers.length > 0 && (
        <div class="answers-row">
          {probe.answers.map(({ outcome, probability }) => (
            <button key={outcome} type="button" class="answer" disabled={probability <= 0} onClick={() => observe({ probe: probe.name, outcome })}>
              {outcome} <small>{percent(probability)}</small>
            </button>
          ))}
        </div>
      )}
      {probe.curves.length > 0 && <Densities probe={probe} observe={observe} />}
    </div>
  );
}

const [WIDTH, HEIGHT] = [600, 120];

function Densities({ probe, observe }: { probe: ProbeAnswers; observe: (seen: Observation) => void }) {
  const [low, high] = [probe.low!, probe.high!];
  const [chosen, setReading] = useState((low + high) / 2);
  const reading = Math.min(high, Math.max(low, chosen)); // what it may read moves with what is known
  const peak = Math.max(...probe.curves[0]!.density) || 1;
  const decimals = Math.max(0, Math.min(6, Math.ceil(2 - Math.log10(high - low))));
  const value = Number(reading.toFixed(decimals));
  const path = (density: number[]) => density.map((d, i) => `${i ? "L" : "M"}${((WIDTH * i) / (density.length - 1)).toFixed(1)} ${(HEIGHT - (HEIGHT - 6) * Math.min(1, d / peak)).toFixed(1)}`).join("");
  const at = Math.round(((reading - low) / (high - low)) * (probe.curves[0]!.density.length - 1));
  const heights = probe.curves.slice(1).map((curve) => ({ label: curve.label, d: curve.density[at] ?? 0 })).sort((a, b) => b.d - a.d);
  return (
    <div class="densities">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Readings from ${low.toPrecision(3)} to ${high.toPrecision(3)}; the likeliest explanation at ${value} is ${heights[0]?.label ?? "unknown"}`}>
        {probe.curves.slice(1).map((curve, i) => <path key={curve.label} class={`curve band-${i % 7}`} d={path(curve.density)}><title>{curve.label}</title></path>)}
        <path class="curve all" d={path(probe.curves[0]!.density)} />
        <line class="reading" x1={(WIDTH * (reading - low)) / (high - low)} x2={(WIDTH * (reading - low)) / (high - low)} y1="0" y2={HEIGHT} />
      </svg>
      <ul class="legend">
        {probe.curves.slice(1).map((curve, i) => <li key={curve.label}><svg class="key" width="22" height="8" aria-hidden="true"><path class={`curve band-${i % 7}`} d="M0 4H22" /></svg> {curve.label}</li>)}
        <li><svg class="key" width="22" height="8" aria-hidden="true"><path class="curve all" d="M0 4H22" /></svg> {probe.curves[0]!.label}</li>
      </ul>
      <input type="range" min={low} max={high} step="any" value={reading} aria-label={`Reading of ${probe.name}`} aria-valuetext={String(value)} onInput={(event) => setReading(Number(event.currentTarget.value))} />
      <p><button type="button" class="answer" onClick={() => observe({ probe: probe.name, outcome: value })}>{probe.name} = {value}</button> {heights[0] && <span class="hint">speaks most for {heights[0].label}</span>}</p>
    </div>
  );
}

const GROUPS: [turns: string, title: string][] = [
  ["prior", "doubt before the alarm"], ["cost", "cost of a probe"], ["quality", "quality of a probe"], ["residual", "loss if wrong and kept"], ["undo", "cost of undoing"],
];

interface Turning { knobs: Knob[]; turned: Record<string, number>; ticks: Record<string, Tick[]>; unit: string; online: boolean; turn: (key: string, value: number | null) => void; inSight: (keys: string[]) => void }

export function Knobs({ knobs, turned, ticks, unit, online, turn, inSight }: Turning) {
  const [group, setGroup] = useState("cost");
  const shown = knobs.filter((knob) => knob.turns === group);
  const keys = shown.map(keyOf);
  useEffect(() => inSight(keys), [keys.join("\n")]);
  return (
    <section class="card knobs" aria-label="Knobs">
      <h2>Knobs {Object.keys(turned).length > 0 && <button type="button" class="quiet" onClick={() => Object.keys(turned).forEach((key) => turn(key, null))}>all back</button>}</h2>
      {!online && <p class="hint">Knobs need the service: open the file with <code>aquamend studio</code>.</p>}
      <div class="segments" role="group" aria-label="Which knobs">
        {GROUPS.filter(([turns]) => knobs.some((knob) => knob.turns === turns)).map(([turns, title]) => (
          <button key={turns} type="button" aria-pressed={group === turns} onClick={() => setGroup(turns)}>{title}</button>
        ))}
      </div>
      {shown.map((knob) => <Turned key={keyOf(knob)} {...{ knob, turned, ticks, unit, online, turn }} />)}
    </section>
  );
}

const keyOf = ({ turns, name }: Knob) => `${turns} ${name}`;

function Turned({ knob, turned, ticks, unit, online, turn }: Omit<Turning, "knobs" | "inSight"> & { knob: Knob }) {
  const key = keyOf(knob);
  const value = turned[key] ?? knob.now;
  const places = ticks[key];
  const place = (x: number) => `${(100 * (x - knob.low)) / (knob.high - knob.low)}%`;
  const read = knob.turns === "prior" ? percent(value) : knob.turns === "quality" ? `${value.toFixed(2)} ×` : quantity(value, unit);
  return (
    <div class={`knob${key in turned ? " turned" : ""}`}>
      <label for={`knob ${key}`}>{knob.name}</label>
      <span class="slider">
        <input id={`knob ${key}`} type="range" min={knob.low} max={knob.high} step="any" value={value} disabled={!online} aria-valuetext={read} onInput={(event) => turn(key, Number(event.currentTarget.value))} />
        <span class="ticks" aria-hidden="true">
          <span class="was" style={{ left: place(knob.now) }} />
          {places?.map((tick) => <span key={tick.at} class="tick" style={{ left: place(tick.at) }} title={`below ${quantity(tick.at)}: ${tick.before}; above: ${tick.after}`} />)}
        </span>
      </span>
      <output for={`knob ${key}`}>{read}</output>
      {key in turned && <button type="button" class="quiet" onClick={() => turn(key, null)} aria-label={`${key} back to ${knob.now}`}>back</button>}
      {places && <p class="hint flipped">{places.length ? places.map((tick) => `${quantity(tick.at)}: ${tick.before} → ${tick.after}`).join("; ") : "no flip on this knob"}</p>}
    </div>
  );
}
