// The problem as YAML and as a tree, side by side: edit either; faults and what looks odd stand at their lines.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml as language } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isMap, isScalar, isSeq, parseDocument } from "yaml";
import type { Checked, FoundFault } from "./data";

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--link)" },
  { tag: tags.comment, color: "var(--soft)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--soft)" },
]);
const HOLDS = ["beliefs", "probes", "actions", "operations", "causes", "hypotheses", "alarm", "alarms", "endings", "restart", "escalate", "plans"];

export interface FileShown {
  text: string; checked: Checked | null; online: boolean;
  revision: number; // counts the changes that did not come from the editor itself
  change: (text: string) => void; // somebody has edited the tree
  type: (text: string) => void; // or typed
}

export function File({ text, revision, change, type, checked, online }: FileShown) {
  const faults = checked?.faults ?? [];
  return (
    <div class="file">
      <section class="card" aria-label="The problem as a tree"><h2>Tree</h2><Tree text={text} change={change} online={online} /></section>
      <section class="card" aria-label="The problem as YAML">
        <h2>YAML</h2>
        {!online && <p class="hint">Editing needs the service: open the file with <code>aquamend studio</code>.</p>}
        <Editor text={text} revision={revision} type={type} faults={faults} online={online} />
        {faults.length > 0 && <ul class="faults" role="alert">{faults.map((fault, i) => <li key={i} class="wrong">{fault.line !== null && !fault.where.startsWith("line ") && `line ${fault.line}: `}{fault.where} {fault.problem}; {fault.remedy}</li>)}</ul>}
        {checked?.valid && checked.findings.length > 0 && <details open><summary>{checked.findings.length === 1 ? "1 thing looks odd" : `${checked.findings.length} things look odd`}</summary><ul class="findings">{checked.findings.map((finding, i) => <li key={i}><b>{String(finding.severity ?? finding.kind ?? "note")}</b> <code>{String(finding.where ?? "")}</code> {String(finding.text ?? finding.what ?? finding.problem ?? finding.message ?? "")}</li>)}</ul></details>}
        {checked?.valid && checked.findings.length === 0 && <p class="hint">Sound, and nothing looks odd.</p>}
      </section>
    </div>
  );
}

// Typing goes out at once; text comes in only where something else has changed it, or fast typing would be undone.
function Editor({ text, revision, type, faults, online }: { text: string; revision: number; type: (text: string) => void; faults: FoundFault[]; online: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const typed = useRef(type);
  typed.current = type;
  const incoming = useRef(false);
  useEffect(() => {
    view.current = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(), history(), keymap.of([...defaultKeymap, ...historyKeymap]), language(), syntaxHighlighting(COLOURS), lintGutter(), EditorView.lineWrapping,
          EditorState.readOnly.of(!online), EditorView.contentAttributes.of({ "aria-label": "Problem file" }),
          EditorView.updateListener.of((update) => update.docChanged && !incoming.current && typed.current(update.state.doc.toString())),
        ],
      }),
    });
    view.current.scrollDOM.tabIndex = 0; // so that keys can scroll it, too
    return () => view.current?.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current!;
    if (editor.state.doc.toString() === text) return;
    incoming.current = true;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
    incoming.current = false;
  }, [revision]);
  useEffect(() => {
    const editor = view.current!;
    const diagnostics = faults.filter((fault) => fault.line !== null && fault.line <= editor.state.doc.lines).map((fault) => {
      const line = editor.state.doc.line(fault.line!);
      return { from: Math.min(line.to, line.from + (fault.column ?? 1) - 1), to: line.to, severity: "error" as const, message: `${fault.where} ${fault.problem}; ${fault.remedy}` };
    });
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [faults]);
  return <div class="editor" ref={place} />;
}

type Path = (string | number)[];

function Tree({ text, change, online }: { text: string; change: (text: string) => void; online: boolean }) {
  const parsed = useMemo(() => parseDocument(text), [text]);
  if (parsed.errors.length || !isMap(parsed.contents)) return <p class="hint">The tree comes back once the YAML can be read.</p>;
  const set = (path: Path, value: unknown) => {
    const next = parseDocument(text);
    next.setIn(path, value);
    change(next.toString({ lineWidth: 0, flowCollectionPadding: false }));
  };
  const entries = parsed.contents.items.filter((pair) => isScalar(pair.key) && HOLDS.includes(String(pair.key.value)));
  return <ul class="tree-of">{entries.map((pair) => <Branch key={String(pair.key)} name={String(pair.key)} node={pair.value} path={[String(pair.key)]} set={set} online={online} open={["beliefs", "probes", "actions", "causes"].includes(String(pair.key))} />)}</ul>;
}

function Branch({ name, node, path, set, online, open = false }: { name: string; node: unknown; path: Path; set: (path: Path, value: unknown) => void; online: boolean; open?: boolean }) {
  const [shown, setShown] = useState(open);
  if (isMap(node) || isSeq(node)) {
    const children = isMap(node)
      ? node.items.map((pair) => [String(pair.key), pair.value] as const)
      : node.items.map((value, i) => [isMap(value) && value.has("name") ? String(value.get("name")) : String(i + 1), value] as const);
    const keys: Path = isMap(node) ? node.items.map((pair) => String(pair.key)) : node.items.map((_, i) => i);
    return (
      <li>
        <button type="button" class="quiet" aria-expanded={shown} onClick={() => setShown(!shown)}><span aria-hidden="true">{shown ? "▾" : "▸"}</span> {name}</button>
        {shown && <ul>{children.map(([label, value], i) => label === "name" && isMap(node) ? null : <Branch key={label} name={label} node={value} path={[...path, keys[i]!]} set={set} online={online} />)}</ul>}
      </li>
    );
  }
  const value = isScalar(node) ? node.value : node;
  const field = `field ${path.join(".")}`;
  return (
    <li class="leaf">
      <label for={field}>{name}</label>
      {typeof value === "number" ? <input id={field} type="number" step="any" value={value} disabled={!online} onChange={(event) => set(path, Number(event.currentTarget.value))} />
        : typeof value === "boolean" ? <input id={field} type="checkbox" checked={value} disabled={!online} onChange={(event) => set(path, event.currentTarget.checked)} />
          : <input id={field} value={String(value ?? "")} disabled={!online} onChange={(event) => set(path, event.currentTarget.value)} />}
    </li>
  );
}
