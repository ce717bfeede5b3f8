// A story as Python writes it (aquamend/story/story.py). A number may be infinite, which JSON has no word for.
export type Num = number | "inf" | "-inf";

export interface Option {
  name: string; scope: string; loss: Num; sensing: Num; recovery: Num | null; residual: Num | null; chosen: boolean;
}
export interface AfterAnswer { answer: string; probability: number; then: string; scope: string; loss: Num }
export interface Flip { belief: string; now: number; at: number; to: string }
export interface Choice {
  policy: string; step: string; scope: string; why: string; options: Option[]; answers: AfterAnswer[]; flips: Flip[];
  nearest_flip: string; lower: Num; upper: Num; certificate: string;
}
export interface Moment {
  time: number; kind: string; title: string; text: string; bad: boolean; seconds: number | null; choice: Choice | null;
  picture: string | null; picture_time: number | null; number: number | null;
}
export interface Update {
  time: number; when: string; explanations: Record<string, number>; doubts: Record<string, number | null>;
}
export interface Statement { name: string; value: string; support: string[]; wrong: boolean | null }
export interface GraphNode { name: string; kind: string; note: string; doubt: number | null; marks: string[] }
export type Edge = [source: string, target: string, kind: string];
export interface Receipt {
  charge: string; what: string; cost: Num; start_s: number | null; end_s: number | null; succeeded: boolean;
  finding: string | number | null; parts: Receipt[];
}
export interface Story {
  title: string; unit: string; policy: string; began: number | null; moments: Moment[]; updates: Update[];
  statements: Statement[]; nodes: GraphNode[]; edges: Edge[]; receipts: Receipt[]; success: boolean | null; verdict: string;
}

// The receipts of what was done itself: of an act in parts, those of its parts.
export function leaves(receipts: Receipt[]): Receipt[] {
  return receipts.flatMap((receipt) => (receipt.parts.length ? leaves(receipt.parts) : [receipt]));
}
