// The recovery graph: probes, beliefs and actions in columns; a click on a node lights what rests on it.
import { Graph as Dagre, layout } from "@dagrejs/dagre";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Edge, GraphNode } from "./data";

const COLUMNS = ["probe", "belief", "action"];
const TITLES: Record<string, string> = { probe: "probes", belief: "beliefs", action: "actions" };
const SIGNS: Record<string, [sign: string, meaning: string]> = {
  undone: ["↶", "undone: the world is put back"],
  wrong: ["✗", "was wrong in truth"],
  corrected: ["✓", "corrected: believed otherwise from then on"],
  suspected: ["?", "suspected at the alarm"],
  next: ["▶", "to be run next"],
  used: ["●", "has answered"],
  planned: ["…", "planned, not done yet"],
};
const GAP = 12;

interface Box { node: GraphNode; x: number; y: number; width: number; height: number; column: number; row: number }

interface Shown { nodes: GraphNode[]; edges: Edge[]; picked?: string | null; onPick?: (name: string | null) => void }

export function Graph({ nodes, edges, picked, onPick }: Shown) {
  const [own, setOwn] = useState<string | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(760);
  useLayoutEffect(() => {
    const element = frame.current!;
    const observer = new ResizeObserver(() => setWidth(Math.max(280, element.clientWidth)));
    observer.observe(element);
    setWidth(Math.max(280, element.clientWidth));
    return () => observer.disconnect();
  }, []);
  // The order depends on what is connected, not on what is known: it stays where only doubts and prices change.
  const connected = JSON.stringify([nodes.map(({ name, kind }) => [name, kind]), edges]);
  const names = useMemo(() => ordered(nodes, edges), [connected]);
  const order = useMemo(() => {
    const now = new Map(nodes.map((node) => [node.name, node]));
    return names.map((column) => column.map((name) => now.get(name)!));
  }, [names, nodes]);
  const { boxes, height, room } = useMemo(() => placed(order, width), [order, width]);
  const chosen = picked === undefined ? own : picked;
  const lit = useMemo(() => (chosen === null ? null : downstream(chosen, edges)), [chosen, edges]);
  const pick = (name: string) => {
    const next = chosen === name ? null : name;
    setOwn(next);
    onPick?.(next);
  };
  const alight = (...names: string[]) => lit === null || names.every((name) => lit.has(name));
  return (
    <div class="graph">
      <div class="frame" ref={frame} style={{ height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8Z" /></marker></defs>
          {edges.map(([source, target, kind]) => {
            const [from, to] = [boxes.get(source), boxes.get(target)];
            if (!from || !to) return null;
            const state = lit === null ? "" : alight(source, target) ? " lit" : " dim";
            return <path key={`${source}>${target}>${kind}`} class={`edge ${kind}${state}`} d={curve(from, to, room)} marker-end="url(#arrow)" />;
          })}
        </svg>
        {COLUMNS.map((kind, column) => <span key={kind} class="column" style={{ left: `${column * (room.width + room.between)}px`, width: `${room.width}px` }}>{TITLES[kind]}</span>)}
        {[...boxes.values()].map((box) => (
          <button
            key={box.node.name} type="button" aria-pressed={chosen === box.node.name}
            class={`node ${box.node.kind} ${box.node.marks.join(" ")}${alight(box.node.name) ? "" : " dim"}`}
            style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}
            title={described(box.node)} onClick={() => pick(box.node.name)}
          >
            <span class="name">{breakable(box.node.name)}</span>
            {box.node.note && <span class="note"> {box.node.note}</span>}
            {box.node.doubt !== null && <span class="doubt"><span style={{ width: `${100 * box.node.doubt}%` }} /></span>}
            <span class="signs" aria-hidden="true">{box.node.marks.map((mark) => SIGNS[mark]?.[0]).join("")}</span>
          </button>
        ))}
      </div>
      <ul class="legend">
        {Object.entries(SIGNS).filter(([mark]) => nodes.some((node) => node.marks.includes(mark))).map(([mark, [sign, meaning]]) => (
          <li key={mark}><b class={mark}>{sign}</b> {meaning}</li>
        ))}
      </ul>
    </div>
  );
}

// A name that may go on in the next line after each of its words.
const breakable = (name: string) => name.split(/(?<=[_-])/).flatMap((part, i) => (i ? [<wbr key={i} />, part] : [part]));

const described = (node: GraphNode) => [node.name, node.note, ...node.marks.map((mark) => SIGNS[mark]?.[1] ?? mark)].filter(Boolean).join(", ");

// All that rests on a node, and the node itself.
export function downstream(name: string, edges: Edge[]): Set<string> {
  const found = new Set([name]);
  for (const each of found) for (const [source, target] of edges) if (source === each) found.add(target);
  return found;
}

// Each column from top to bottom, in an order in which few edges cross.
function ordered(nodes: GraphNode[], edges: Edge[]): string[][] {
  const graph = new Dagre();
  graph.setGraph({ rankdir: "LR" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.name, { width: 10, height: 10 });
  const kind = new Map(nodes.map((node) => [node.name, node.kind]));
  for (const [source, target] of edges) if (kind.get(source) !== kind.get(target)) graph.setEdge(source, target);
  layout(graph);
  const at = (node: GraphNode) => graph.node(node.name)?.y ?? 0;
  const actions = nodes.filter((node) => node.kind === "action"); // these come in the order in which they are done
  const others = COLUMNS.slice(0, 2).map((column) => nodes.filter((node) => node.kind === column).sort((a, b) => at(a) - at(b)));
  return [...others, actions].map((column) => column.map(({ name }) => name));
}

interface Room { width: number; between: number }

function placed(order: GraphNode[][], width: number): { boxes: Map<string, Box>; height: number; room: Room } {
  const between = width < 520 ? 26 : width < 800 ? 70 : 120;
  const room = { width: (width - 2 * between - 30) / 3, between };
  const letters = Math.max(6, Math.floor((room.width - 26) / 7.4));
  const tall = (node: GraphNode) => 20 + 18 * Math.ceil(node.name.length / letters) + (node.note ? 17 * Math.ceil(node.note.length / (1.1 * letters)) : 0);
  const heights = order.map((column) => column.reduce((sum, node) => sum + tall(node) + GAP, 0));
  const height = Math.max(...heights, 60) + 30;
  const boxes = new Map<string, Box>();
  order.forEach((column, i) => {
    const spare = (height - 30 - heights[i]!) / Math.max(1, column.length);
    let y = 30 + spare / 2;
    column.forEach((node, row) => {
      boxes.set(node.name, { node, x: i * (room.width + between), y, width: room.width, height: tall(node), column: i, row });
      y += tall(node) + GAP + spare;
    });
  });
  return { boxes, height, room };
}

function curve(from: Box, to: Box, room: Room): string {
  const [y0, y1] = [from.y + from.height / 2, to.y + to.height / 2];
  if (from.column === to.column) {
    const side = from.x + from.width;
    const bend = Math.min(room.between * 0.8, 26, 8 + 5 * Math.abs(to.row - from.row));
    return `M${side} ${y0}C${side + bend} ${y0} ${side + bend} ${y1} ${side + 2} ${y1}`;
  }
  const forward = from.column < to.column;
  const [x0, x1] = forward ? [from.x + from.width, to.x] : [from.x, to.x + to.width];
  const reach = (x1 - x0) * 0.5;
  return `M${x0} ${y0}C${x0 + reach} ${y0} ${x1 - reach} ${y1} ${x1} ${y1}`;
}
