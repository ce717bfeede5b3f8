// Numbers against a number: lines on axes, with a mark on one of them.
import type { Num } from "./data";
import { num } from "./format";

export interface Line { label: string; colour: string; dashed?: boolean; points: [x: number, y: Num][] }

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 260, 62, 8, 12, 36];
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const short = (value: number, digits: number) => Number(value.toPrecision(digits)).toString();

export function Curves({ lines, label, most, mark }: { lines: Line[]; label: string; most?: number; mark?: { at: number; value: number; text: string } }) {
  const drawn = lines.map((line) => ({ ...line, points: line.points.filter(([, y]) => Number.isFinite(num(y))) }));
  const places = drawn.flatMap(({ points }) => points.map(([x]) => x));
  const [low, high] = [Math.min(...places), Math.max(...places)];
  const top = (most ?? Math.max(...drawn.flatMap(({ points }) => points.map(([, y]) => num(y))))) || 1;
  const across = (x: number) => LEFT + ((WIDTH - LEFT - RIGHT) * (x - low)) / (high - low || 1);
  const up = (y: number) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y / top);
  const early = mark !== undefined && across(mark.at) < WIDTH / 2;
  return (
    <svg class="curves" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" role="img" aria-label={label}>
      {TICKS.map((share) => (
        <g key={share}>
          <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={up(top * share)} y2={up(top * share)} />
          <text x={LEFT - 8} y={up(top * share) + 4} text-anchor="end">{short(top * share, 3)}</text>
          <text x={LEFT + (WIDTH - LEFT - RIGHT) * share} y={HEIGHT - 12} text-anchor={share === 0 ? "start" : share === 1 ? "end" : "middle"}>{short(low + (high - low) * share, 4)}</text>
        </g>
      ))}
      {drawn.map(({ label: name, colour, dashed, points }) => (
        <polyline key={name} fill="none" stroke={`var(--${colour})`} stroke-width="2.5" stroke-dasharray={dashed ? "6 4" : undefined} points={points.map(([x, y]) => `${across(x).toFixed(1)},${up(num(y)).toFixed(1)}`).join(" ")}><title>{name}</title></polyline>
      ))}
      {mark && mark.at >= low && mark.at <= high && (
        <g class="mark">
          <line x1={across(mark.at)} x2={across(mark.at)} y1={TOP} y2={HEIGHT - BOTTOM} />
          <circle cx={across(mark.at)} cy={up(mark.value)} r="5" />
          <text x={across(mark.at) + (early ? 8 : -8)} y={TOP + 12} text-anchor={early ? "start" : "end"}>{mark.text}</text>
        </g>
      )}
    </svg>
  );
}
