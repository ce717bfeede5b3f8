// The studio: see a problem, turn its knobs, walk its plan, watch a robot live. The page opens with its first decision in it.
import { render } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, type Checked, keyOf, type Observation, Refused, type Situation, type Start, type Tick, type View } from "./data";
import { File } from "./file";
import { Plan } from "./plan";
import { Sessions } from "./sessions";
import { DecisionCard, Evidence, Knobs, Picture, Weighed } from "./situation";

const start = JSON.parse(document.getElementById("story")!.textContent!) as Start;
const online = start.states === null;

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
  const [checked, setChecked] = useState<Checked | null>(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const [picked, setPicked] = useState<string | null>(null);
  const [ticks, setTicks] = useState<Record<string, Tick[]>>({});
  const situation = useMemo<Situation>(() => ({ problem: text, observed, policy, turned }), [text, observed, policy, turned]);
  const first = useRef(true);
  const flight = useRef<AbortController | null>(null);

  // The decision first, and what would flip it once nothing else is turned: that takes longer.
  useEffect(() => {
    if (first.current) {
      first.current = false;
      if (start.view !== null || !online) return;
    }
    if (!text.trim()) return;
    if (!online) {
      const found = stored(observed);
      if (!found) {
        setWrong("The state after that answer is not among those in this page; open the file with “aquamend studio”.");
        setObserved(observed.slice(0, -1));
      } else setView({ ...found, edges: start.view!.edges, corrections: start.view!.corrections, knobs: start.view!.knobs });
      return;
    }
    flight.current?.abort();
    const stop = (flight.current = new AbortController());
    setBusy(true);
    const began = performance.now();
    ask<View>("view", { ...situation, flips: false }, stop.signal)
      .then((quick) => {
        setView((known) => ({ ...quick, knobs: Object.keys(turned).length && known ? known.knobs : quick.knobs }));
        setWrong("");
        setBusy(false);
        requestAnimationFrame(() => Object.assign(document.body.dataset, { redrawn: (performance.now() - began).toFixed(1) }));
        return new Promise((later) => setTimeout(later, 250));
      })
      .then(() => (stop.signal.aborted ? null : ask<View>("view", { ...situation, flips: true }, stop.signal)))
      .then((whole) => whole && setView((known) => ({ ...whole, knobs: Object.keys(turned).length && known ? known.knobs : whole.knobs })))
      .catch((error) => {
        if (stop.signal.aborted) return;
        setBusy(false);
        setWrong(error instanceof Refused ? error.detail : String(error));
        if (error instanceof Refused && error.faults.length) setChecked({ valid: false, faults: error.faults, findings: [] });
      });
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
  }, [text, tab]);

  useEffect(() => setTicks({}), [text, observed, policy]);
  const asked = useRef(new Set<string>());
  useEffect(() => asked.current.clear(), [text, observed, policy]);
  const wanted = useCallback((key: string) => {
    if (!online || asked.current.has(key)) return;
    asked.current.add(key);
    ask<{ ticks: Tick[] }>("ticks", { ...situation, turned: {}, knob: key }).then(({ ticks: found }) => setTicks((known) => ({ ...known, [key]: found })), () => asked.current.delete(key));
  }, [situation]);

  const turn = (key: string, value: number | null) => setTurned((known) => {
    const { [key]: _, ...rest } = known;
    return value === null ? rest : { ...rest, [key]: value };
  });
  const [revision, setRevision] = useState(0); // counts changes that did not come from the editor itself
  const type = (next: string) => {
    setText(next);
    setTurned((known) => (Object.keys(known).length ? {} : known));
  };
  const observe = (seen: Observation) => {
    setWrong("");
    setObserved([...observed, seen]);
  };
  const edit = (next: string) => {
    type(next);
    setRevision((count) => count + 1);
  };
  const take = async (list: FileList | null | undefined) => {
    const given = list?.[0];
    if (!given) return;
    setObserved([]);
    setPicked(null);
    setFile(given.name);
    edit(await given.text());
  };
  const tabs = [["situation", "Situation"], ["plan", "Plan"], ["file", "File"], ...(start.sessions && online ? [["sessions", "Sessions"]] : [])] as const;
  return (
    <div class="studio" onDragOver={(event) => online && event.preventDefault()} onDrop={(event) => { if (online) { event.preventDefault(); void take(event.dataTransfer?.files); } }}>
      <header class="head">
        <h1>{view?.name ?? "AquaMend studio"}</h1>
        <nav aria-label="Views">{tabs.map(([key, title]) => <button key={key} type="button" aria-current={tab === key ? "page" : undefined} onClick={() => setTab(key!)}>{title}</button>)}</nav>
        {online && <label class="control">policy <select value={policy} onChange={(event) => setPolicy(event.currentTarget.value)}>{start.policies.map((name) => <option key={name}>{name}</option>)}</select></label>}
        {online && <label class="control pick">open a file <input type="file" accept=".yaml,.yml,.json" onChange={(event) => void take(event.currentTarget.files)} /></label>}
        <small>{file.split(/[\\/]/).pop()}{!online && ` · offline, ${Object.keys(start.states!).length} states`}</small>
      </header>
      {wrong && <p class="wrong alert" role="alert">{wrong}</p>}
      <main>
        {tab !== "sessions" && !text.trim() && <p class="hint">Drop a problem file here, or open one above.</p>}
        {tab === "situation" && view && (
          <>
            <Evidence observed={observed} back={(length) => setObserved(observed.slice(0, length))} />
            <div class="situation">
              <div class="left">
                <DecisionCard view={view} busy={busy} />
                <Weighed view={view} />
              </div>
              <div class="right">
                <Picture view={view} picked={picked} pick={setPicked} observe={observe} />
                <Knobs {...{ knobs: view.knobs, turned, ticks, unit: view.unit, online, turn, wanted }} />
              </div>
            </div>
            {!online && start.beyond > 0 && <p class="hint">What the states in this page do not cover has a probability of {(100 * start.beyond).toFixed(1)} % after the answers that the plan asks for. Readings are on a grid.</p>}
          </>
        )}
        {tab === "plan" && text.trim() && <Plan situation={situation} policies={start.policies} online={online} />}
        {tab === "file" && <File text={text} revision={revision} change={edit} type={type} checked={checked} online={online} />}
        {tab === "sessions" && <Sessions policies={start.policies} />}
      </main>
    </div>
  );
}

const app = document.getElementById("app")!;
app.replaceChildren();
render(<Studio />, app);
document.body.dataset.ready = "yes";
requestAnimationFrame(() => Object.assign(document.body.dataset, { shown: performance.now().toFixed(1) }));
