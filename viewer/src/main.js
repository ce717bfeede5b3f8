// Puts the replay together: clock, picture, controls, timeline. The state stands on <body> as data- attributes.
import { decodeRecording } from "./decode.js";
import { Player } from "./player.js";
import { View, webglWorks } from "./scene.js";
import { clock, connectMoments, connectPosterior, connectScrubber } from "./timeline.js";

const find = (id) => document.getElementById(id);
const state = document.body.dataset;

function connectControls(player) {
  const play = find("play");
  play.addEventListener("click", () => player.toggle());
  find("begin").addEventListener("click", () => player.toggle(true));
  find("previous").addEventListener("click", () => player.step(-1));
  find("next").addEventListener("click", () => player.step(1));
  find("speed").addEventListener("change", ({ target }) => (player.speed = Number(target.value)));
  find("linger").addEventListener("change", ({ target }) => (player.linger = target.checked));
  player.onChange(({ playing, time }) => {
    play.dataset.shows = playing ? "pause" : time >= player.end ? "again" : "play";
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    if (playing || time > player.start) find("begin").hidden = true;
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

function connectCaption(player) {
  const caption = find("caption");
  player.onChange(({ moment }) => {
    if (caption.dataset.moment === String(moment)) return;
    caption.dataset.moment = moment;
    const { kind, title, time_s: time } = player.moments[moment] ?? { kind: "", title: "", time_s: 0 };
    caption.className = kind;
    caption.hidden = !title;
    caption.querySelector(".kind").textContent = kind && `${clock(time)} ${kind}`;
    caption.querySelector(".title").textContent = title;
  });
}

async function openView(player) {
  if (!webglWorks()) {
    throw new Error("This browser shows no 3-D pictures (WebGL is missing or switched off).");
  }
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old to unpack the recording.");
  }
  const view = new View(find("stage"), await decodeRecording(find("recording").textContent));
  find("reset").addEventListener("click", () => view.reset());
  find("turn").addEventListener("click", () => view.turnRound());
  player.onChange(({ time }) => {
    view.show(time);
    state.frame = view.frame;
  });
  return view;
}

function run(player, view) {
  let last = performance.now();
  const tick = (now) => {
    player.advance(Math.min(0.25, (now - last) / 1000)); // a tab that slept goes on where it was
    last = now;
    view?.draw();
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

async function main() {
  const story = JSON.parse(find("story").textContent);
  const player = new Player(story.start_s, story.end_s, story.moments);
  connectControls(player);
  connectKeys(player);
  connectCaption(player);
  connectMoments(find("moments"), player);
  connectScrubber({ bar: find("scrub"), ticks: find("ticks"), now: find("now") }, player);
  connectPosterior({ panel: find("posterior"), list: find("explanations"), after: find("after") }, story.posteriors, player);
  player.onChange(({ playing, time, moment }) => Object.assign(state, { playing, time: time.toFixed(3), moment }));
  player.changed();
  let view = null;
  try {
    view = await openView(player);
    state.webgl = "yes";
  } catch (error) {
    state.webgl = "no";
    find("trouble-why").textContent = error.message;
    find("trouble").hidden = false;
    for (const id of ["begin", "views"]) find(id).hidden = true;
  }
  player.changed();
  run(player, view);
  state.ready = "yes";
}

main();
