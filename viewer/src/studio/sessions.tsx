// Sessions: the list and each one's story, as they go on; what is asked of a person; what another policy would have done.
import { useEffect, useState } from "preact/hooks";
import type { Num, Story } from "../shared/data";
import { quantity } from "../shared/format";
import { StoryParts } from "../shared/storyparts";
import { ask, Refused, type SessionLine, type SessionView, stepWords } from "./data";
import { type Choosable, PolicyChoice } from "./policies";

const PAGE = 100; // sessions that are listed at once

const day = (time: number) => new Date(1000 * time).toISOString().slice(0, 19).replace("T", " ");

export function Sessions({ choosable }: { choosable: Choosable }) {
  const [lines, setLines] = useState<Map<string, SessionLine>>(new Map());
  const [open, setOpen] = useState<string | null>(null);
  const [more, setMore] = useState(false);
  const older = (after: number) => ask<{ sessions: SessionLine[]; total: number }>(`sessions?after=${after}&limit=${PAGE}`).then((part) => {
    setMore(after + part.sessions.length < part.total);
    setLines((known) => new Map([...part.sessions.map((line) => [line.session, line] as const), ...known]));
  }, () => undefined);
  useEffect(() => void older(0), []);
  useEffect(() => {
    const live = new EventSource(`/api/live?limit=${PAGE}`);
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
                <b>{line.session}</b> <span class={`status ${line.status.replaceAll(" ", "-")}`}>{line.status === "waiting" ? "waiting for a person" : line.status}</span>
                <small>{line.problem} · {line.policy} · {day(line.started)} · {quantity(line.cost)}</small>
              </button>
            </li>
          ))}
        </ul>
        {more && <p class="hint">These are the latest {lines.size}. <button type="button" class="quiet" onClick={() => void older(lines.size)}>older ones</button></p>}
      </section>
      {open && <One key={open} name={open} choosable={choosable} />}
    </div>
  );
}

function One({ name, choosable }: { name: string; choosable: Choosable }) {
  const [view, setView] = useState<SessionView | null>(null);
  const [story, setStory] = useState<Story | null>(null);
  const [wrong, setWrong] = useState("");
  const [by, setBy] = useState("");
  const path = `sessions/${encodeURIComponent(name)}`;
  useEffect(() => {
    let later = 0;
    let [asked, shown] = [0, 0]; // stories may come in another order than they were asked for
    let heard = false;
    const follow = async (mine: number) => {
      const found = await ask<Story>(`${path}/story`);
      if (mine < shown) return;
      shown = mine;
      setWrong("");
      setStory(found);
    };
    const refresh = () => {
      window.clearTimeout(later);
      later = window.setTimeout(() => void follow(++asked).catch((error) => setWrong(String(error.detail ?? error))), 60);
    };
    refresh();
    ask<SessionView>(path).then((found) => heard || setView(found), (error) => setWrong(String(error.detail ?? error)));
    const live = new EventSource(`/api/${path}/live`);
    live.addEventListener("event", refresh);
    live.addEventListener("session", (event) => {
      heard = true; // and what was asked for before is older than this
      setView(JSON.parse((event as MessageEvent<string>).data) as SessionView);
    });
    return () => {
      live.close();
      window.clearTimeout(later);
    };
  }, [path]);
  return (
    <section class="story-of" aria-label={`Session ${name}`}>
      <h2>{name}</h2>
      {wrong && <p class="wrong" role="alert">{wrong}</p>}
      {view?.asked && <Question key={view.asked.token} path={path} view={view} by={by} setBy={setBy} />}
      {view?.in_doubt && <p class="verdict">Begun, and no receipt yet: {view.in_doubt}. Where the program that had it done has ended, and nothing moves any more, say what became of it with <code>aquamend session settle</code>.</p>}
      {story ? <p class="verdict">{story.verdict}</p> : !wrong && <p class="hint" role="status">Its story is being told …</p>}
      <Recorded name={name} />
      <AnotherPolicy path={path} choosable={choosable} unit={view?.unit ?? ""} />
      {story && <StoryParts story={story} />}
    </section>
  );
}

// One question; the next one has a note and an answer of its own, and only who answers stays.
function Question({ path, view, by, setBy }: { path: string; view: SessionView; by: string; setBy: (name: string) => void }) {
  const [note, setNote] = useState("");
  const [said, setSaid] = useState("");
  const [sent, setSent] = useState(false);
  const answer = (granted: boolean) => {
    setSent(true);
    setSaid("being sent …");
    ask(`${path}/answer`, { token: view.asked!.token, granted, by, note }).then(() => setSaid(granted ? "allowed" : "refused"), (error) => {
      setSent(false);
      setSaid(error instanceof Refused ? error.detail : String(error));
    });
  };
  return (
    <form class="card question" onSubmit={(event) => event.preventDefault()}>
      <h2>A person is asked</h2>
      <p><b>{view.asked!.act}</b> ({view.asked!.reason})</p>
      <label>your name <input value={by} required onInput={(event) => setBy(event.currentTarget.value)} /></label>
      <label>note <input value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>
      <button type="button" class="answer" disabled={!by.trim() || sent} onClick={() => answer(true)}>approve</button>
      <button type="button" class="answer" disabled={!by.trim() || sent} onClick={() => answer(false)}>refuse</button>
      <span role="status">{said}</span>
    </form>
  );
}

// The replay of a session that has one, in a frame of its own; a large page, so it is shown when it is asked for.
function Recorded({ name }: { name: string }) {
  const address = `/replay?session=${encodeURIComponent(name)}`;
  const [there, setThere] = useState(false);
  const [shown, setShown] = useState(false);
  useEffect(() => {
    let here = true;
    fetch(address, { method: "HEAD" }).then((answer) => here && setThere(answer.status === 200), () => undefined);
    return () => void (here = false);
  }, [address]);
  if (!there) return null;
  return (
    <details class="recorded" onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>The replay in 3-D</summary>
      {shown && <iframe src={address} title={`Replay of ${name}`} sandbox="allow-scripts" />}
    </details>
  );
}

interface Instead { policy: string; steps: Record<string, unknown>[]; unanswered: string | null; expected_loss: Num | null; happened: { cost: Num; expected_loss: Num | null; policy: string } }

function AnotherPolicy({ path, choosable, unit }: { path: string; choosable: Choosable; unit: string }) {
  const [policy, setPolicy] = useState("");
  const [found, setFound] = useState<Instead | null>(null);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    setFound(null);
    setWrong("");
    if (!policy) return;
    const stop = new AbortController();
    ask<Instead>(`${path}/instead`, { policy }, stop.signal).then(setFound, (error) => stop.signal.aborted || setWrong(error instanceof Refused ? error.detail : String(error)));
    return () => stop.abort();
  }, [path, policy]);
  return (
    <div class="instead" aria-live="polite">
      <PolicyChoice label="what would another policy have done?" value={policy} set={setPolicy} none="choose one" {...choosable} />
      {policy && !found && !wrong && <p class="hint" role="status">Its decisions are being made …</p>}
      {wrong && <p class="wrong" role="alert">{wrong}</p>}
      {found && <p><b>{found.policy}</b>: {found.steps.map(stepWords).join(" → ")}. {found.unanswered ? `The record ends there: nobody ran ${found.unanswered} that often.` : `Expected loss ${quantity(found.expected_loss ?? "inf", unit)}; ${found.happened.policy}: ${quantity(found.happened.expected_loss ?? found.happened.cost, unit)}.`}</p>}
    </div>
  );
}
