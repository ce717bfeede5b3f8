// What stands beside the picture: the list of moments, the scrub bar with its ticks, and the posterior.

export function clock(seconds) {
  const whole = Math.floor(Math.max(0, seconds) + 1e-6);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

export function connectMoments(list, side, player) {
  const rows = [...list.children];
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  player.moments.forEach(({ rows: places }, index) => {
    const row = rows[places[side]];
    row?.querySelector("button").addEventListener("click", () => player.jump(index));
  });
  let shown = null;
  player.onChange(() => {
    const moment = player.rowOf(side);
    if (moment === shown) return;
    rows[shown]?.removeAttribute("aria-current");
    rows[moment]?.setAttribute("aria-current", "true");
    rows.forEach((row, index) => row.classList.toggle("past", index < moment));
    bringIntoView(list, rows[moment] ?? rows[0], calm.matches);
    shown = moment;
  });
}

// Scrolls the list and never the page: on a phone the reader may be anywhere.
function bringIntoView(list, row, calm) {
  const frame = list.parentElement;
  if (!row || frame.scrollHeight <= frame.clientHeight) return;
  const top = row.offsetTop - list.offsetTop - (frame.clientHeight - row.offsetHeight) / 3;
  frame.scrollTo({ top, behavior: calm ? "instant" : "smooth" });
}

export function connectScrubber({ bar, ticks, now }, player) {
  const length = player.end - player.start || 1;
  Object.assign(bar, { min: player.start, max: player.end, step: "any" });
  bar.addEventListener("input", () => player.seek(Number(bar.value)));
  const offsets = sideBySide(player.moments, length);
  player.moments.forEach((moment, index) => {
    const tick = element("button", `tick ${moment.kind}`);
    tick.title = `${clock(moment.time_s)} ${moment.title}`;
    tick.tabIndex = -1; // the list of moments is the way for keys
    tick.setAttribute("aria-hidden", "true");
    tick.style.left = `${(100 * (moment.time_s - player.start)) / length}%`;
    tick.style.setProperty("--beside", offsets[index]);
    tick.addEventListener("click", () => player.jump(index));
    ticks.append(tick);
  });
  player.onChange(({ time }) => {
    bar.value = time;
    bar.parentElement.style.setProperty("--done", `${(100 * (time - player.start)) / length}%`);
    bar.setAttribute("aria-valuetext", `${clock(time)} of ${clock(player.end)}`);
    now.textContent = `${clock(time)} / ${clock(player.end)}`;
  });
}

// Moments of the same time stand beside each other: the alarm must not hide behind the decision it led to.
function sideBySide(moments, length) {
  const offsets = [];
  moments.forEach((moment, index) => {
    const close = index > 0 && moment.time_s - moments[index - 1].time_s < 0.004 * length;
    offsets.push(close ? offsets[index - 1] + 1 : 0);
  });
  return offsets;
}

// The rows keep their places, so that one sees probability move between them.
export function connectPosterior({ panel, list, when }, posteriors, player) {
  if (!posteriors.length) {
    panel.hidden = true;
    return;
  }
  const rows = posteriors[0].rows.map(([name]) => posteriorRow(list, name));
  const rest = posteriorRow(list, "all others together");
  rest.classList.add("others");
  let shown = null;
  player.onChange(({ time }) => {
    const index = Math.max(0, lastAt(posteriors, time, ({ time_s: at }) => at));
    if (index === shown) return;
    shown = index;
    const { rows: shares, others, when: since } = posteriors[index];
    const likeliest = Math.max(...shares.map(([, mass]) => mass));
    rows.forEach((row, i) => fillRow(row, shares[i][1], shares[i][2], shares[i][1] === likeliest));
    fillRow(rest, others[0], others[1], false);
    when.textContent = since;
  });
}

// Returns the place of the last entry at or before a time; -1 before the first.
export function lastAt(entries, time, at) {
  return entries.findLastIndex((entry) => at(entry) <= time + 1e-9);
}

function posteriorRow(list, name) {
  const row = element("li", "explanation");
  const label = element("span", "name", name);
  label.title = name;
  const track = element("span", "track");
  track.append(element("span", "fill"));
  row.append(label, track, element("span", "share"));
  list.append(row);
  return row;
}

function fillRow(row, mass, text, likeliest) {
  row.querySelector(".fill").style.width = `${100 * mass}%`;
  row.querySelector(".share").textContent = text;
  row.classList.toggle("likeliest", likeliest);
}
