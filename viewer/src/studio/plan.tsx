// The plan: what a policy will do, answer by answer; width is probability, a leaf shows what is lost from there on.
import { hierarchy, type HierarchyPointNode, tree } from "d3-hierarchy";
import { useEffect, useRef, useState } from "preact/hooks";
import { percent, quantity } from "../shared/format";
import { ask, type PlanNode, type PlanTree, Refused, type Situation, stepWords, type TwoPlans } from "./data";
import { type Choosable, PolicyChoice } from "./policies";

const [ROW, COLUMN, OPEN] = [34, 250, 2];
const [FEW, MANY] = [8, 80]; // nodes of a plan: to begin with, and at most

interface Item { index: number; node: PlanNode; children: Item[] }

// `said` is what the page says already of what is wrong.
export function Plan({ situation, choosable, online, said }: { situation: Situation; choosable: Choosable; online: boolean; said: string }) {
  const [policy, setPolicy] = useState(situation.policy);
  const [versus, setVersus] = useState("");
  const [plans, setPlans] = useState<PlanTree | TwoPlans | null>(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(true);
  const [followed, setFollowed] = useState(situation.policy);
  if (followed !== situation.policy) { // the studio's policy has been changed; an effect might undo what has been chosen here since
    setFollowed(situation.policy);
    setPolicy(situation.policy);
  }
  useEffect(() => setPlans(null), [situation.problem, situation.observed, situation.turned]); // that plan is of something else
  useEffect(() => {
    if (!online) return;
    const stop = new AbortController();
    setWrong("");
    setBusy(true);
    const asked = (nodes: number, seconds: number) => ask<PlanTree | TwoPlans>("plan", { ...situation, policy, versus: versus || null, nodes, seconds }, stop.signal).then(setPlans);
    // The likeliest answers first, and all that a page can show of it once that is there.
    asked(FEW, 5).then(() => asked(MANY, 10), () => asked(MANY, 10)).then(() => setBusy(false)).catch((error) => {
      if (stop.signal.aborted) return;
      setBusy(false);
      setPlans(null);
      setWrong(error instanceof Refused ? error.detail : String(error));
    });
    return () => stop.abort();
  }, [situation, policy, versus, online]);
  if (!online) return <p class="hint">Plans need the service: open the file with <code>aquamend studio</code>.</p>;
  const trees = plans === null ? [] : "one" in plans ? [plans.one, plans.other] : [plans];
  const parts = plans !== null && "one" in plans ? plans.parts : [];
  return (
    <div class="plan">
      <p class="controls">
        <PolicyChoice label="plan of" value={policy} set={setPolicy} {...choosable} />
        <PolicyChoice label="beside" value={versus} set={setVersus} none="nobody" {...choosable} />
      </p>
      {wrong && wrong !== said && <p class="wrong" role="alert">{wrong}</p>}
      {busy && <p class="hint" role="status">The plan is being followed …</p>}
      {parts.length > 0 && <p>They part {parts.length === 1 ? "once" : `at ${parts.length} places`}, which a recovery comes to with {percent(parts.reduce((sum, part) => sum + part.probability, 0))}. Those places have a mark.</p>}
      {trees.length === 2 && parts.length === 0 && <p>They do the same.</p>}
      <div class={trees.length === 2 ? "two" : ""}>
        {trees.map((one, i) => <Tree key={`${one.policy} ${one.nodes.length} ${i}`} plan={one} marked={new Set(parts.map((part) => (i ? part.other : part.one)))} />)}
      </div>
    </div>
  );
}

function items(plan: PlanTree): Item {
  const all: Item[] = plan.nodes.map((node, index) => ({ index, node, children: [] }));
  for (const item of all) if (item.node.parent !== null) all[item.node.parent]!.children.push(item);
  return all[0]!;
}

const answerOf = ({ answer, above, below }: PlanNode) => answer ?? (above === null && below === null ? "" : above === null ? `below ${quantity(below!)}` : below === null ? `above ${quantity(above)}` : `${quantity(above)} to ${quantity(below)}`);

function Tree({ plan, marked }: { plan: PlanTree; marked: Set<number> }) {
  const [shut, setShut] = useState<Set<number> | null>(null);
  const root = items(plan);
  const closed = shut ?? new Set(plan.nodes.flatMap((_, i) => (depth(plan, i) >= OPEN - 1 ? [i] : [])));
  const laid = tree<Item>().nodeSize([ROW, COLUMN]).separation(() => 1)(hierarchy(root, (item) => (closed.has(item.index) ? [] : item.children)));
  const nodes: HierarchyPointNode<Item>[] = []; // in the order in which they are read: all that is below one right after it
  laid.eachBefore((node) => void nodes.push(node));
  const [at, setAt] = useState(0); // whose turn it is when Tab comes to the tree
  const here = Math.max(0, nodes.findIndex(({ data }) => data.index === at));
  const box = useRef<HTMLDivElement>(null);
  const go = (index: number | undefined) => {
    if (index === undefined) return;
    setAt(index);
    box.current!.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus();
  };
  const keyed = (event: KeyboardEvent) => {
    const { data, parent, children } = nodes[here]!;
    const isOpen = data.children.length > 0 && !closed.has(data.index);
    if (event.key === "ArrowDown") go(nodes[here + 1]?.data.index);
    else if (event.key === "ArrowUp") go(nodes[here - 1]?.data.index);
    else if (event.key === "Home") go(nodes[0]!.data.index);
    else if (event.key === "End") go(nodes.at(-1)!.data.index);
    else if (event.key === "ArrowRight" && isOpen) go(children?.[0]?.data.index);
    else if (event.key === "ArrowLeft" && !isOpen) go(parent?.data.index);
    else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && data.children.length > 0) toggle(data);
    else return;
    event.preventDefault();
  };
  const [top, bottom] = [Math.min(...nodes.map((n) => n.x)), Math.max(...nodes.map((n) => n.x))];
  const width = COLUMN * (Math.max(...nodes.map((n) => n.depth)) + 1) + 20;
  const height = bottom - top + 2 * ROW;
  const toggle = (item: Item) => {
    const next = new Set(closed);
    if (!next.delete(item.index)) next.add(item.index);
    setShut(next);
  };
  return (
    <figure>
      <figcaption><b>{plan.policy}</b>: expects to lose {quantity(plan.nodes[0]!.loss, plan.unit)}</figcaption>
      <div class="scroll tree">
        <div role="tree" aria-label={`Plan of ${plan.policy}`} ref={box} onKeyDown={keyed} style={{ position: "relative", width: `${width}px`, height: `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true">
            {laid.links().map(({ source, target }) => {
              const [x0, y0, x1, y1] = [source.y + COLUMN - 70, source.x - top + ROW, target.y + 6, target.x - top + ROW];
              return <path key={target.data.index} class="branch" stroke-width={Math.max(1, 12 * target.data.node.probability)} d={`M${x0} ${y0}C${x0 + 40} ${y0} ${x1 - 40} ${y1} ${x1} ${y1}`} />;
            })}
          </svg>
          {nodes.map(({ x, y, depth: level, data: item }, i) => {
            const { node } = item;
            const more = item.children.length > 0;
            const words = stepWords(node.step);
            return (
              <button
                key={item.index} type="button" class={`plan-node ${node.step.kind}${marked.has(item.index) ? " parts" : ""}${more ? "" : " leaf"}`}
                role="treeitem" aria-level={level + 1} aria-expanded={more ? !closed.has(item.index) : undefined} data-index={item.index} tabIndex={i === here ? 0 : -1} onFocus={() => setAt(item.index)}
                style={{ left: `${y + 6}px`, top: `${x - top + ROW - 16}px`, width: `${COLUMN - 76}px` }} onClick={() => more && toggle(item)}
                title={`${answerOf(node) && `after ${answerOf(node)} `}(${percent(node.probability)}): ${words}, ${quantity(node.loss, plan.unit)} from here on`}
              >
                {marked.has(item.index) && <span class="hidden">here the two part: </span>}
                <span class="line numbers">{answerOf(node) && <i>{answerOf(node)}</i>} <small>{percent(node.probability)}</small>{!more && <b> · {quantity(node.loss, plan.unit)}</b>}</span>
                <span class="line">{more && <span aria-hidden="true">{closed.has(item.index) ? "▸ " : "▾ "}</span>}{words}{node.beyond && " …"}</span>
              </button>
            );
          })}
        </div>
      </div>
    </figure>
  );
}

function depth(plan: PlanTree, index: number): number {
  let count = 0;
  for (let at = plan.nodes[index]!.parent; at !== null; at = plan.nodes[at]!.parent) count++;
  return count;
}
