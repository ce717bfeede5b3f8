// What has been paid so far, by kind; an action under way has been paid in part.
import { element } from "./timeline.js";

const KINDS = ["sensing", "rollback", "continuation", "residual"];

export function paid(costs, time) {
  const sums = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  for (const [kind, start, end, cost] of costs) {
    const share = time >= end ? 1 : time <= start ? 0 : (time - start) / (end - start);
    sums[kind] += share * cost;
  }
  return sums;
}

// A full bar is as long as the dearest side ends up, so that two sides can be compared.
export function connectCosts(panel, { costs, unit }, full, player) {
  if (!costs.length) return;
  panel.hidden = false;
  const bars = KINDS.map((kind) => element("span", `part ${kind}`));
  panel.querySelector(".track").append(...bars);
  const words = KINDS.map((kind) => element("span", `amount ${kind}`));
  panel.querySelector(".parts").append(...words);
  player.onChange(({ time }) => {
    const sums = paid(costs, time);
    const total = KINDS.reduce((sum, kind) => sum + sums[kind], 0);
    panel.querySelector(".sum").textContent = `Paid since the alarm: ${total.toFixed(1)} ${unit}`;
    KINDS.forEach((kind, i) => {
      bars[i].style.width = `${full > 0 && Number.isFinite(total) ? (100 * sums[kind]) / full : 0}%`;
      words[i].textContent = `${kind} ${sums[kind].toFixed(1)}`;
    });
  });
}

export function total(costs) {
  return costs.reduce((sum, [, , , cost]) => sum + cost, 0);
}
