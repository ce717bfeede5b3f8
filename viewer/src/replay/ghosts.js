// What the robot believes of the vessels: an outline where each is believed to stand, and beside its name the level
// believed and the real one.
import { Box3, CylinderGeometry, EdgesGeometry, Group, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, Vector3 } from "three";
import { element, lastAt } from "./timeline.js";

const APART_M = 0.05; // nearer than this, outline and vessel are one, and the outline needs no name
const WRONG_G = 3; // what the task tolerates
const SWELL = 1.16;

export class Ghosts {
  // A track knows the text of its label, its group, and its place at a frame.
  constructor(view, beliefs) {
    this.view = view;
    this.beliefs = beliefs;
    this.shown = -1;
    const named = new Set(beliefs.flatMap(([, places]) => Object.keys(places)));
    this.ghosts = view.tracks.filter(({ text }) => named.has(text)).map((track) => this.ghost(track));
  }

  ghost(track) {
    const bounds = new Box3().setFromObject(track.group);
    const size = bounds.getSize(new Vector3());
    const geometry = new CylinderGeometry((SWELL * size.x) / 2, (SWELL * size.x) / 2, size.z, 8).rotateX(Math.PI / 2);
    geometry.rotateZ(Math.PI / 8).translate(0, 0, size.z / 2);
    const color = track.group.children[0]?.material.color;
    const fill = new Mesh(geometry, new MeshBasicMaterial({ color, transparent: true, opacity: 0.13, depthWrite: false }));
    const lines = new LineSegments(new EdgesGeometry(geometry, 20), new LineBasicMaterial({ color, transparent: true, opacity: 0.85 }));
    fill.renderOrder = lines.renderOrder = 2;
    const group = new Group();
    group.add(fill, lines);
    group.visible = false;
    this.view.scene.add(group);
    const label = element("span", "label ghost", `${track.text} is believed here`);
    label.hidden = true;
    this.view.stage.append(label);
    return { group, label, track, foot: track.at(0).z };
  }

  show(time) {
    const index = lastAt(this.beliefs, time, ([at]) => at);
    const [, places, levels, flowing] = this.beliefs[index] ?? [0, {}, {}, false];
    for (const { group, track, foot } of this.ghosts) {
      const place = places[track.text];
      group.visible = place !== undefined;
      if (place) group.position.set(place[0], place[1], foot);
    }
    if (index === this.shown) return;
    this.shown = index;
    for (const { label, text } of this.view.tracks) if (label) tell(label, text, levels[text], flowing);
  }

  // Called after every drawing: labels are placed over the picture.
  place(project) {
    for (const { group, label, track } of this.ghosts) {
      const apart = Math.hypot(group.position.x - track.group.position.x, group.position.y - track.group.position.y);
      label.hidden = !group.visible || apart < APART_M;
      if (!label.hidden) project(label, group.position.clone(), "translate(-50%, calc(15% + 2.4rem))");
    }
  }
}

function tell(label, text, level, flowing) {
  label.replaceChildren(element("b", "", text));
  label.classList.toggle("wrong", false);
  if (!level) return;
  const [believed, real] = level;
  label.append(element("span", "said", `: believed ${Math.round(believed)} g`), element("span", "dot", " · "), element("span", "so", `unseen: ${Math.round(real)} g`));
  label.classList.toggle("wrong", !flowing && Math.abs(believed - real) > WRONG_G); // during a pour, belief waits for the receipt
}
