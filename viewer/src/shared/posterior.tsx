// What may be the matter over time: a stacked column for each update, joined by ribbons; its names stand beside it.
import type { Update } from "./data";
import { percent } from "./format";

const HEIGHT = 300;
const LABEL = 21;
const COLOURS = 7;
const READABLE = 0.075; // a share below this has no room for its number

interface Band { name: string; style: string; shares: number[] }

// The likeliest in the end first; what is not shown by itself comes last, in grey, so that nobody takes it for likely.
export function bands(updates: Update[]): Band[] {
  const names = [...new Set(updates.flatMap((update) => Object.keys(update.explanations)))];
  const share = (update: Update, name: string) => Math.max(0, update.explanations[name] ?? 0);
  const last = updates[updates.length - 1]!;
  const ranked = names.sort((a, b) => share(last, b) - share(last, a));
  const found = ranked.map((name, i) => ({ name, style: `band-${i % COLOURS}${i >= COLOURS ? " again" : ""}`, shares: updates.map((update) => share(update, name)) }));
  const rest = updates.map((_, i) => Math.max(0, 1 - found.reduce((sum, band) => sum + band.shares[i]!, 0)));
  return Math.max(...rest) > 5e-4 && names.length ? [...found, { name: "all others together", style: "band-others", shares: rest }] : found;
}

export function Posterior({ updates }: { updates: Update[] }) {
  const known = updates.filter((update) => Object.keys(update.explanations).length);
  if (!known.length) return null;
  const stacked = bands(known);
  const edges = known.map((_, i) => stacked.reduce((all, band) => [...all, all[all.length - 1]! + band.shares[i]!], [0]));
  const places = spread(stacked.map((band, i) => HEIGHT * (edges[edges.length - 1]![i]! + band.shares[known.length - 1]! / 2)), HEIGHT);
  const columns = { gridTemplateColumns: `repeat(${known.length}, minmax(0, 1fr))` };
  const spoken = stacked.map((band) => `${band.name} ${percent(band.shares[known.length - 1]!)}`).join(", ");
  return (
    <figure class="posterior">
      <div class="plot">
        <svg width="100%" height={HEIGHT} role="img" aria-label={`After ${known.length} updates: ${spoken}`}>
          <svg width="100%" height={HEIGHT} viewBox={`0 0 ${100 * known.length} 100`} preserveAspectRatio="none">
            {stacked.map((band, i) => (
              <path key={band.name} class={band.style} d={ribbon(edges.map((edge) => edge[i]!), edges.map((edge) => edge[i + 1]!))}>
                <title>{band.name}</title>
              </path>
            ))}
          </svg>
          {known.length <= 12 && edges.map((edge, column) => stacked.map((band, i) => band.shares[column]! >= READABLE && (
            <text key={`${column} ${i}`} x={`${(100 * (column + 0.5)) / known.length}%`} y={((edge[i]! + edge[i + 1]!) / 2) * HEIGHT + 4}>{percent(band.shares[column]!)}</text>
          )))}
        </svg>
        <ol class={`updates${known.length > 5 ? " many" : ""}`} style={known.length > 5 ? {} : columns}>
          {known.map((update, i) => <li key={i}>{known.length > 5 && <b>{i + 1} </b>}{update.when}</li>)}
        </ol>
      </div>
      <ul class="labels" aria-label="Explanations, and how likely they were in the end" style={{ height: `${Math.max(HEIGHT, LABEL * stacked.length)}px` }}>
        {stacked.map((band, i) => (
          <li key={band.name} class={band.style} style={{ top: `${places[i]! - LABEL / 2}px` }} title={band.name}>
            <span class={`swatch ${band.style}`} /> <b>{percent(band.shares[known.length - 1]!)}</b> {band.name}
          </li>
        ))}
      </ul>
    </figure>
  );
}

// Places near the wanted ones, in the same order, no two closer than a label is high.
export function spread(wanted: number[], height: number, apart = LABEL): number[] {
  const places: number[] = [];
  for (const place of wanted) places.push(Math.max(place, places.length ? places[places.length - 1]! + apart : apart / 2));
  let ceiling = height - apart / 2;
  for (let i = places.length - 1; i >= 0; i--) {
    places[i] = Math.min(places[i]!, ceiling);
    ceiling = places[i]! - apart;
  }
  const high = Math.min(0, (places[0] ?? apart) - apart / 2);
  return places.map((place) => place - high);
}

function ribbon(top: number[], bottom: number[]): string {
  const along = (edge: number[]) => edge.flatMap((y, column) => [100 * column + 22, 100 * column + 78].map((x) => [x, 100 * y] as const));
  const forth = along(top);
  const back = along(bottom).reverse();
  const right = 100 * top.length;
  forth[0] = [0, forth[0]![1]];
  forth[forth.length - 1] = [right, forth[forth.length - 1]![1]];
  back[0] = [right, back[0]![1]];
  back[back.length - 1] = [0, back[back.length - 1]![1]];
  return `M${curve(forth)}L${curve(back)}Z`;
}

function curve(points: (readonly [number, number])[]): string {
  const at = (x: number, y: number) => `${x.toFixed(2)} ${y.toFixed(3)}`;
  return points.map(([x, y], i) => {
    if (i === 0) return at(x, y);
    const [x0, y0] = points[i - 1]!;
    return `C${at((x0 + x) / 2, y0)} ${at((x0 + x) / 2, y)} ${at(x, y)}`;
  }).join("");
}
