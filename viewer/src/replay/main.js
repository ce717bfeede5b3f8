// Puts the replay together: clock, picture, controls, timeline. The state stands on <body> as data- attributes.
import { connectCosts, total } from "./costs.js";
import { decodeRecording } from "./decode.js";
import { Player } from "./player.js";
import { View, webglWorks } from "./scene.js";
import { clock, connectMoments, connectPosterior, connectScrubber } from "./timeline.js";

const find = (id) => document.getElementById(id);
const state = document.body.dataset;

function connectControls(player) {
  const play = find("play");
  play.addEventListener("click", () => player.toggle());
  find("previous").addEventListener("click", () => player.step(-1));
  find("next").addEventListener("click", () => player.step(1));
  find("speed").addEventListener("change", ({ target }) => (player.speed = Number(target.value)));
  find("linger").addEventListener("change", ({ target }) => (player.linger = target.checked));
  find("names").addEventListener("change", ({ target }) => document.body.classList.toggle("names-off", !target.checked));
  player.onChange(({ playing, time }) => {
    play.dataset.shows = playing ? "pause" : time >= player.end ? "again" : "play";
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
  });
}

function connectKeys(player) {
  const acts = { " ": () => player.toggle(), ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1) };
  const meant = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in acts)) return false;
    const own = event.key === " " ? "select, summary, a, input[type=checkbox], #bar-of-buttons button" : "select";
    return !event.target.closest?.(own);
  };
  document.addEventListener("keydown", (event) => {
    if (!meant(event)) return;
    event.preventDefault();
    acts[event.key]();
  });
  // Elsewhere the space bar would press the moment that was clicked last.
  document.addEventListener("keyup", (event) => event.key === " " && meant(event) && event.preventDefault());
}

function connectCaption(caption, side, player) {
  let shown = null;
  player.onChange(({ moment, moments }) => {
    const row = player.rowOf(side);
    if (shown === row) return;
    shown = row;
    const current = moments.slice(0, moment + 1).findLast(({ rows }) => rows[side] !== null);
    const { kind, title, time_s: time } = current ?? { kind: "", title: "", time_s: 0 };
    caption.className = `caption ${kind}`;
    caption.hidden = !title;
    caption.querySelector(".kind").textContent = kind && `${clock(time)} ${kind}`;
    caption.querySelector(".title").textContent = title;
  });
}

function connectEnd(badge, { ended_s: ended, success, costs, unit }, player) {
  if (!badge || ended === null) return;
  badge.textContent = `${success ? "✓ recovered" : "✗ not recovered"} · ${total(costs).toFixed(1)} ${unit}`;
  badge.classList.toggle("failure", !success);
  player.onChange(({ time }) => (badge.hidden = time < ended - 1e-9));
}

function connectSide(section, data, index, full, player) {
  const part = (name) => section.querySelector(`.${name}`);
  part("begin").addEventListener("click", () => player.toggle(true));
  player.onChange(({ playing, time }) => {
    if (playing || time > player.start) part("begin").hidden = true;
  });
  connectCaption(part("caption"), index, player);
  connectMoments(part("moments"), index, player);
  connectEnd(part("result"), data, player);
  connectCosts(part("costs"), data, full, player);
  connectPosterior({ panel: part("posterior"), list: part("explanations"), when: part("when") }, data.posteriors, player);
}

async function openView(section, { beliefs }, player) {
  if (!webglWorks()) {
    throw new Error("This browser shows no 3-D pictures (WebGL is missing or switched off).");
  }
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old to unpack the recording.");
  }
  const part = (name) => section.querySelector(`.${name}`);
  const view = new View(part("stage"), await decodeRecording(part("recording").textContent), beliefs);
  part("reset").addEventListener("click", () => view.reset());
  part("turn").addEventListener("click", () => view.turnRound());
  player.onChange(({ time }) => {
    view.show(time);
    state.frame = view.frame;
  });
  return view;
}

function complain(section, error) {
  section.querySelector(".why").textContent = error.message;
  section.querySelector(".trouble").hidden = false;
  for (const name of ["begin", "views"]) section.querySelector(`.${name}`).hidden = true;
}

function run(player, views) {
  let last = performance.now();
  const tick = (now) => {
    player.advance(Math.min(0.25, (now - last) / 1000)); // a tab that slept goes on where it was
    last = now;
    for (const view of views) view.draw();
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

async function main() {
  const story = JSON.parse(find("story").textContent);
  const player = new Player(story.start_s, story.end_s, story.moments);
  const sections = [...document.querySelectorAll(".side")];
  const full = Math.max(...story.sides.map(({ costs }) => total(costs)));
  connectControls(player);
  connectKeys(player);
  connectScrubber({ bar: find("scrub"), ticks: find("ticks"), now: find("now") }, player);
  story.sides.forEach((data, index) => connectSide(sections[index], data, index, full, player));
  player.onChange(({ playing, time, moment }) => Object.assign(state, { playing, time: time.toFixed(3), moment }));
  player.changed();
  const views = [];
  for (const [index, data] of story.sides.entries()) {
    try {
      views.push(await openView(sections[index], data, player));
    } catch (error) {
      complain(sections[index], error);
    }
  }
  state.webgl = views.length === sections.length ? "yes" : "no";
  player.changed();
  run(player, views);
  state.ready = "yes";
}

main();
