// Sessions: the list and each one's story, as they go on; what is asked of a person; what another policy would have done.
import { useEffect, useState } from "preact/hooks";
import type { Num, Story } from "../shared/data";
import { quantity } from "../shared/format";
import { StoryParts } from "../shared/storyparts";
import { ask, Refused, type SessionLine, type SessionView, stepWords } from "./data";

const day = (time: number) => new Date(1000 * time).toISOString().slice(0, 19).replace("T", " ");

export function Sessions({ policies }: { policies: string[] }) {
  const [lines, setLines] = useState<Map<string, SessionLine>>(new Map());
  const [open, setOpen] = useState<string | null>(null);
  useEffect(() => {
    const live = new EventSource("/api/live");
    live.addEventListener("session", (event) => {
      const line = JSON.parse((event as MessageEvent<string>).data) as SessionLine;
      setLines((known) => new Map(known).set(line.session, line));
    });
    live.addEventListener("deleted", (event) => {
      const { session } = JSON.parse((event as MessageEvent<string>).data) as { session: string };
      setLines((known) => new Map([...known].filter(([name]) => name !== session)));
    });
    return () => live.close();
  }, []);
  const sorted = [...lines.values()].sort((a, b) => b.updated - a.updated);
  return (
    <div class="sessions">
      <section class="card" aria-label="Sessions">
        <h2>Sessions</h2>
        {!sorted.length && <p class="hint">None has been kept yet.</p>}
        <ul>
          {sorted.map((line) => (
            <li key={line.session}>
              <button type="button" class="session" aria-pressed={open === line.session} onClick={() => setOpen(line.session)}>
                <b>{line.session}</b> <span class={`status ${line.status.replaceAll(" ", "-")}`}>{line.status}</span>
                <small>{line.problem} · {line.policy} · {day(line.started)} · {quantity(line.cost)}</small>
              </button>
            </li>
          ))}
        </ul>
      </section>
      {open && <One key={open} name={open} policies={policies} />}
    </div>
  );
}

function One({ name, policies }: { name: string; policies: string[] }) {
  const [view, setView] = useState<SessionView | null>(null);
  const [story, setStory] = useState<Story | null>(null);
  const [wrong, setWrong] = useState("");
  const path = `sessions/${encodeURIComponent(name)}`;
  useEffect(() => {
    let later = 0;
    const refresh = () => {
      window.clearTimeout(later);
      later = window.setTimeout(() => ask<Story>(`${path}/story`).then(setStory, (error) => setWrong(String(error.detail ?? error))), 60);
    };
    refresh();
    ask<SessionView>(path).then(setView, (error) => setWrong(String(error.detail ?? error)));
    const live = new EventSource(`/api/${path}/live`);
    live.addEventListener("event", refresh);
    live.addEventListener("session", (event) => setView(JSON.parse((event as MessageEvent<string>).data) as SessionView));
    return () => {
      live.close();
      window.clearTimeout(later);
    };
  }, [path]);
  return (
    <section class="story-of" aria-label={`Session ${name}`}>
      <h2>{name}</h2>
      {wrong && <p class="wrong" role="alert">{wrong}</p>}
      {view?.asked && <Question path={path} view={view} />}
      {view?.in_doubt && <p class="verdict bad">In doubt: {view.in_doubt}. Once nothing moves any more, say what became of it with <code>aquamend session settle</code>.</p>}
      {story && <p class="verdict">{story.verdict}</p>}
      <Replay path={path} policies={policies} unit={view?.unit ?? ""} />
      {story && <StoryParts story={story} />}
    </section>
  );
}

function Question({ path, view }: { path: string; view: SessionView }) {
  const [by, setBy] = useState("");
  const [note, setNote] = useState("");
  const [said, setSaid] = useState("");
  const answer = (granted: boolean) => {
    ask(`${path}/answer`, { token: view.asked!.token, granted, by, note }).then(() => setSaid(granted ? "allowed" : "refused"), (error) => setSaid(error instanceof Refused ? error.detail : String(error)));
  };
  return (
    <form class="card question" onSubmit={(event) => event.preventDefault()}>
      <h2>A person is asked</h2>
      <p><b>{view.asked!.act}</b> ({view.asked!.reason})</p>
      <label>your name <input value={by} required onInput={(event) => setBy(event.currentTarget.value)} /></label>
      <label>note <input value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>
      <button type="button" class="answer" disabled={!by} onClick={() => answer(true)}>approve</button>
      <button type="button" class="answer" disabled={!by} onClick={() => answer(false)}>refuse</button>
      <span role="status">{said}</span>
    </form>
  );
}

interface Replayed { policy: string; steps: Record<string, unknown>[]; unanswered: string | null; expected_loss: Num | null; happened: { cost: Num; expected_loss: Num | null; policy: string } }

function Replay({ path, policies, unit }: { path: string; policies: string[]; unit: string }) {
  const [found, setFound] = useState<Replayed | null>(null);
  return (
    <div class="replayed">
      <label>what would another policy have done? <select value="" onChange={(event) => ask<Replayed>(`${path}/replay`, { policy: event.currentTarget.value }).then(setFound)}>
        {["", ...policies].map((name) => <option key={name} value={name}>{name || "choose one"}</option>)}
      </select></label>
      {found && <p><b>{found.policy}</b>: {found.steps.map(stepWords).join(" → ")}. {found.unanswered ? `The record ends there: nobody ran ${found.unanswered} that often.` : `Expected loss ${quantity(found.expected_loss ?? "inf", unit)}; ${found.happened.policy}: ${quantity(found.happened.expected_loss ?? found.happened.cost, unit)}.`}</p>}
    </div>
  );
}
