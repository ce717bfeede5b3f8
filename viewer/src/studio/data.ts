// What the service answers, and where answers come from: the service itself, or the states that stand in an offline page.
import type { Choice, Edge, GraphNode, Num, Story } from "../shared/data";

export interface Observation { probe: string; outcome: string | number }
export interface ProbeAnswers {
  name: string; cost: number; why_illegal: string; answers: { outcome: string; probability: number }[];
  low: number | null; high: number | null; curves: { label: string; density: number[] }[];
}
export interface Knob { turns: string; name: string; now: number; low: number; high: number }
export interface Tick { at: number; before: string; after: string }
export interface View {
  name: string; unit: string; choice: Choice; doubts: Record<string, number | null>; explanations: Record<string, number>;
  nodes: GraphNode[]; edges: Edge[]; probes: ProbeAnswers[]; corrections: { belief: string; undo: string[]; cost: Num }[]; knobs: Knob[];
}
export interface FoundFault { where: string; problem: string; remedy: string; line: number | null; column: number | null }
export interface Finding { rule?: string; severity?: string; text?: string; where?: string; message?: string }
export interface Checked { valid: boolean; faults: FoundFault[]; findings: Record<string, unknown>[] }
export interface PlanNode {
  step: Record<string, unknown>; probability: number; loss: Num; parent: number | null; answer: string | null;
  above: number | null; below: number | null; at: number | null; beyond: boolean;
}
export interface PlanTree { name: string; unit: string; policy: string; nodes: PlanNode[] }
export interface TwoPlans { one: PlanTree; other: PlanTree; parts: { one: number; other: number; probability: number }[] }
export interface SessionLine { session: string; status: string; problem: string; policy: string; started: number; updated: number; events: number; cost: Num }
export interface SessionView extends SessionLine { asked: { act: string; reason: string; token: string } | null; in_doubt: string | null; ending: string | null; unit: string }

export interface Situation { problem: string; observed: Observation[]; policy: string; turned: Record<string, number> }

// What stands in the page when it opens.
export interface Family { prefix: string; letter: string; low: number; high: number | null; step: number; usual: number }
export interface Start {
  format: string; file: string; problem: string; policy: string; policies: string[]; families: Family[]; view: View | null; sessions: boolean; tab: string;
  states: Record<string, View> | null; beyond: number; grid: Record<string, number[]>;
}

export class Refused extends Error {
  constructor(readonly detail: string, readonly faults: FoundFault[]) {
    super(detail);
  }
}

export async function ask<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await fetch(`/api/${path}`, { ...init, ...(signal ? { signal } : {}) });
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.detail ?? response.statusText, answer.faults ?? []);
  return answer as T;
}

export const keyOf = (observed: Observation[]) => JSON.stringify(observed.map(({ probe, outcome }) => [probe, outcome]));
export type { Choice, Story };

// A step of a plan in words, as the terminal calls it.
export function stepWords(step: Record<string, unknown>): string {
  const names = (list: unknown, most = 3) => {
    const all = list as string[];
    return all.length <= most + 1 ? all.join(", ") : `${all.slice(0, most).join(", ")} and ${all.length - most} more`;
  };
  switch (step.kind) {
    case "reprobe": return `run probe ${step.probe}`;
    case "continue": return "continue as is";
    case "restart": return "restart from the beginning";
    case "escalate": return "escalate to a person";
    default: return step.plan ? `follow plan ${step.plan}` : `roll back ${names(step.correct)}`;
  }
}
