// The studio: see a problem, turn its knobs, walk its plan, watch a robot live. The page opens with its first decision in it.
import { render } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, type Checked, keyOf, type Observation, Refused, type Situation, type Start, type Tick, type View } from "./data";
import type { FileShown } from "./file";
import { painted, run } from "./later";
import { Newest } from "./newest";
import { Plan } from "./plan";
import { PolicyChoice } from "./policies";
import { Sessions } from "./sessions";
import { DecisionCard, Evidence, Knobs, Picture, Weighed } from "./situation";

const start = JSON.parse(document.getElementById("story")!.textContent!) as Start;
const online = start.states === null;
const choosable = { policies: start.policies, families: start.families };
const QUIET_MS = 250; // before what takes longer is asked for
const views = new Newest((situation: Situation, signal) => ask<View>("view", { ...situation, flips: false }, signal));

// The nearest state that stands in an offline page: readings are taken to the grid that they were computed on.
function stored(observed: Observation[]): View | null {
  const onGrid = observed.map(({ probe, outcome }) => ({
    probe,
    outcome: typeof outcome === "number" ? (start.grid[probe] ?? [outcome]).reduce((best, x) => (Math.abs(x - outcome) < Math.abs(best - outcome) ? x : best)) : outcome,
  }));
  return start.states?.[keyOf(onGrid)] ?? null;
}

function Studio() {
  const [tab, setTab] = useState(start.tab);
  const [text, setText] = useState(start.problem);
  const [file, setFile] = useState(start.file);
  const [observed, setObserved] = useState<Observation[]>([]);
  const [policy, setPolicy] = useState(start.policy);
  const [turned, setTurned] = useState<Record<string, number>>({});
  const [view, setView] = useState<View | null>(start.view);
  const [drawn, setDrawn] = useState(start.view === null ? null : start.problem); // the text that the view on screen is of
  const [checked, setChecked] = useState<Checked | null>(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const [revision, setRevision] = useState(0); // counts changes that did not come from the editor itself
  const [picked, setPicked] = useState<string | null>(null);
  const [ticks, setTicks] = useState<Record<string, Tick[]>>({});
  const situation = useMemo<Situation>(() => ({ problem: text, observed, policy, turned }), [text, observed, policy, turned]);
  const first = useRef(true);

  // A decision is drawn at once; what would flip it and how losses split, which takes longer, once nothing else is turned.
  useEffect(() => {
    if (first.current) {
      first.current = false;
      if (start.view !== null || !online) return;
    }
    if (!text.trim()) {
      setWrong("");
      return;
    }
    if (!online) {
      const found = stored(observed);
      if (!found) {
        setWrong("The state after that answer is not among those in this page; open the file with “aquamend studio”.");
        setObserved(observed.slice(0, -1));
      } else setView({ ...found, edges: start.view!.edges, corrections: start.view!.corrections, knobs: start.view!.knobs });
      return;
    }
    const stop = new AbortController();
    const began = performance.now();
    const draw = (found: View) => {
      setView((known) => ({ ...found, knobs: Object.keys(turned).length && known ? known.knobs : found.knobs }));
      setDrawn(text);
    };
    const refused = (error: unknown) => {
      if (stop.signal.aborted) return;
      window.clearTimeout(slow);
      setBusy(false);
      setWrong(error instanceof Refused ? error.detail : String(error));
      if (error instanceof Refused && error.faults.length) setChecked({ valid: false, faults: error.faults, findings: [] });
    };
    let later = 0;
    const slow = window.setTimeout(() => setBusy(true), QUIET_MS / 2);
    views.want(situation).then((quick) => {
      if (quick === null) return;
      draw(quick); // also where something has been turned since: it is on its way there
      if (stop.signal.aborted) return;
      window.clearTimeout(slow);
      setWrong("");
      setBusy(false);
      painted(() => Object.assign(document.body.dataset, { redrawn: (performance.now() - began).toFixed(1) }));
      later = window.setTimeout(() => ask<View>("view", { ...situation, flips: true }, stop.signal).then((whole) => stop.signal.aborted || draw(whole), refused), QUIET_MS);
    }, refused);
    return () => {
      stop.abort();
      window.clearTimeout(slow);
      window.clearTimeout(later);
    };
  }, [situation]);

  // Faults and what looks odd, as one types.
  useEffect(() => {
    if (!online || tab !== "file" || !text.trim()) return;
    const stop = new AbortController();
    const later = setTimeout(() => ask<Checked>("validate", { problem: text }, stop.signal).then(setChecked, () => undefined), 300);
    return () => {
      clearTimeout(later);
      stop.abort();
    };
  }, [text, tab, revision]);

  // Where the decision flips on each knob in sight, one after another while nothing is turned. A text that is not drawn yet
  // may be another problem, which the knobs in sight are no knobs of.
  useEffect(() => setTicks({}), [text, observed, policy]);
  const known = useRef(ticks);
  known.current = ticks;
  const [inSight, setInSight] = useState<string[]>([]);
  useEffect(() => {
    if (!online || tab !== "situation" || drawn !== text || !text.trim()) return;
    const stop = new AbortController();
    const ticksOf = async (key: string) => {
      const { ticks: found } = await ask<{ ticks: Tick[] }>("ticks", { ...situation, turned: {}, knob: key }, stop.signal);
      if (!stop.signal.aborted) setTicks((others) => ({ ...others, [key]: found }));
    };
    const later = window.setTimeout(async () => {
      for (const key of inSight) if (!stop.signal.aborted && !(key in known.current)) await ticksOf(key).catch(() => undefined);
    }, 2 * QUIET_MS);
    return () => {
      window.clearTimeout(later);
      stop.abort();
    };
  }, [situation, drawn, inSight, tab]);

  const turn = (key: string, value: number | null) => setTurned((known) => {
    const { [key]: _, ...rest } = known;
    return value === null ? rest : { ...rest, [key]: value };
  });
  const type = (next: string) => {
    setText(next);
    setTurned((known) => (Object.keys(known).length ? {} : known));
  };
  const observe = useCallback((seen: Observation) => {
    setWrong("");
    setObserved((known) => [...known, seen]);
  }, []);
  const edit = (next: string) => {
    type(next);
    setRevision((count) => count + 1);
  };
  const take = async (list: FileList | null | undefined) => {
    const given = list?.[0];
    if (!given) return;
    try {
      const next = await given.text();
      setObserved([]);
      setPicked(null);
      setChecked(null);
      setFile(given.name);
      edit(next);
    } catch {
      setWrong(`${given.name} cannot be read; it may be a folder, or gone.`);
    }
  };
  const current = drawn === text; // else what is on screen is of a text before, and nothing in it can be asked of this one
  const weighed = useMemo(() => view && <Weighed view={view} />, [view]); // drawn again only where they have changed
  const picture = useMemo(() => view && <Picture view={view} picked={picked} pick={setPicked} observe={observe} />, [view, picked]);
  const tabs = [["situation", "Situation"], ["plan", "Plan"], ["file", "File"], ...(start.sessions && online ? [["sessions", "Sessions"]] : [])] as const;
  return (
    <div class="studio" onDragOver={(event) => online && event.preventDefault()} onDrop={(event) => { if (online) { event.preventDefault(); void take(event.dataTransfer?.files); } }}>
      <header class="head">
        <h1>{(wrong && !current ? null : view?.name) ?? "AquaMend studio"}</h1>
        <nav aria-label="Views">{tabs.map(([key, title]) => <button key={key} type="button" aria-current={tab === key ? "page" : undefined} onClick={() => setTab(key!)}>{title}</button>)}</nav>
        {online && <span class="control"><PolicyChoice label="policy" value={policy} set={setPolicy} {...choosable} /></span>}
        {online && <label class="control pick">open a file <input type="file" accept=".yaml,.yml,.json" onChange={(event) => { void take(event.currentTarget.files); event.currentTarget.value = ""; /* so that the same file can be opened again */ }} /></label>}
        <small>{file.split(/[\\/]/).pop()}{!online && ` · offline, ${Object.keys(start.states!).length} states`}</small>
      </header>
      {wrong && <p class="wrong alert" role="alert">{wrong}</p>}
      <main>
        {tab !== "sessions" && !text.trim() && <p class="hint">Drop a problem file here, or open one above.</p>}
        {tab === "situation" && view && text.trim() && (
          <>
            <Evidence observed={observed} back={(length) => setObserved(observed.slice(0, length))} />
            {!current && wrong && <p class="hint">What stands below is of the text before.</p>}
            <div class="situation" inert={!current}>
              <div class="left">
                <DecisionCard view={view} busy={busy} />
                {weighed}
              </div>
              <div class="right">
                {picture}
                <Knobs {...{ knobs: view.knobs, turned, ticks, unit: view.unit, online, turn, inSight: setInSight }} />
              </div>
            </div>
            {!online && start.beyond > 0 && <p class="hint">What the states in this page do not cover has a probability of {(100 * start.beyond).toFixed(1)} % after the answers that the plan asks for. Readings are on a grid.</p>}
          </>
        )}
        {tab === "plan" && text.trim() && <Plan situation={situation} choosable={choosable} online={online} said={wrong} />}
        {tab === "file" && <FileView text={text} revision={revision} change={edit} type={type} checked={checked} online={online} />}
        {tab === "sessions" && <Sessions choosable={choosable} />}
      </main>
    </div>
  );
}

function FileView(shown: FileShown) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const here = place.current!;
    run("editor");
    return () => globalThis.showFile!(here, null);
  }, []);
  useEffect(() => globalThis.showFile!(place.current!, shown));
  return <div ref={place} />;
}

// The decision stands in the page already: it is drawn before this does anything that takes time.
function begin() {
  const app = document.getElementById("app")!;
  app.replaceChildren();
  render(<Studio />, app);
  document.body.dataset.ready = "yes";
  painted(() => Object.assign(document.body.dataset, { shown: performance.now().toFixed(1) }));
}

if (document.hidden) begin(); // nothing is painted there
else painted(begin);
