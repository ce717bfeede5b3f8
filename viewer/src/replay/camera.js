// From where to look: across the row of vessels, from the side that the robot leaves free.
import { PerspectiveCamera, Vector3 } from "three";

const UP = new Vector3(0, 0, 1);
const ELEVATION = (35 * Math.PI) / 180;
const ASIDE = (14 * Math.PI) / 180;
const MARGIN_M = 0.06;
const NAMES_M = 0.06; // room for the names below the vessels
const CAPTION_M = 0.04; // and for the caption above
const EVERY = 10; // frames; nothing moves far in between

export function makeCamera() {
  const camera = new PerspectiveCamera(32, 1, 0.02, 30);
  camera.up.copy(UP);
  return camera;
}

// Returns the places that should be in view, and the direction to look at them from.
// A track knows the text of its label (null: no vessel), its height and width, and its place at a frame.
export function overview(tracks, frames) {
  const solid = tracks.filter(({ size }) => size > 0 && size < 1);
  const vessels = solid.filter(({ text }) => text !== null);
  const others = solid.filter(({ text }) => text === null);
  const points = [];
  for (const track of vessels.length ? vessels : solid) {
    for (let frame = 0; frame < frames; frame += EVERY) {
      const foot = track.at(frame);
      points.push(foot.clone().setZ(foot.z - NAMES_M), foot.clone().setZ(foot.z + track.top + CAPTION_M));
    }
  }
  if (!points.length) points.push(new Vector3(-0.3, -0.3, 0), new Vector3(0.3, 0.3, 0.3));
  return { points, direction: vessels.length ? acrossRow(vessels, others, frames) : new Vector3(0.3, -0.75, 0.6).normalize() };
}

function acrossRow(vessels, others, frames) {
  const places = vessels.map((track) => track.at(0));
  const row = places.length > 1 ? places.at(-1).clone().sub(places[0]).setZ(0) : new Vector3(1, 0, 0);
  if (row.lengthSq() < 1e-6) row.set(1, 0, 0);
  const across = new Vector3(row.y, -row.x, 0).normalize();
  let robot = 0;
  for (const track of others) {
    for (let frame = 0; frame < frames; frame += EVERY) robot += track.at(frame).sub(places[0]).dot(across);
  }
  if (robot > 0) across.negate();
  across.applyAxisAngle(UP, ASIDE);
  return across.multiplyScalar(Math.cos(ELEVATION)).setZ(Math.sin(ELEVATION));
}

// Places the camera so that all points are in view and in the middle, whatever the shape of the window.
export function frameAll(camera, controls, points, direction) {
  const right = new Vector3().crossVectors(UP, direction).normalize();
  const above = new Vector3().crossVectors(direction, right);
  const axes = [right, above, direction];
  const middle = axes.map((axis) => {
    const reach = points.map((point) => point.dot(axis));
    return (reach.reduce((a, b) => Math.min(a, b)) + reach.reduce((a, b) => Math.max(a, b))) / 2;
  });
  const tall = Math.tan((camera.fov * Math.PI) / 360);
  let distance = 0.2;
  for (const point of points) {
    const [x, y, nearer] = axes.map((axis, i) => point.dot(axis) - middle[i]);
    const reach = Math.max(Math.abs(y) + MARGIN_M, (Math.abs(x) + MARGIN_M) / camera.aspect) / tall;
    distance = Math.max(distance, reach + nearer);
  }
  controls.target.set(0, 0, 0);
  axes.forEach((axis, i) => controls.target.addScaledVector(axis, middle[i]));
  camera.position.copy(controls.target).addScaledVector(direction, distance);
  controls.update();
  return distance;
}
