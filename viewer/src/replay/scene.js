// The picture: bodies, water, light and labels, drawn for a time of the recording.
import {
  Box3, Color, DirectionalLight, DynamicDrawUsage, Fog, HemisphereLight, IcosahedronGeometry, InstancedMesh, Matrix4,
  MeshStandardMaterial, NeutralToneMapping, PCFShadowMap, Quaternion, Scene, SRGBColorSpace, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { frameAll, makeCamera, overview } from "./camera.js";
import { locate, sample } from "./decode.js";
import { Ghosts } from "./ghosts.js";
import { bodyGroup, vesselLabel } from "./solids.js";
import { element } from "./timeline.js";

const SWELL = 1.15; // drawn beads overlap a little, so that they read as water
const BACKDROP = { light: 0xe4e8ec, dark: 0x1a1e24 };

export function webglWorks() {
  try {
    return document.createElement("canvas").getContext("webgl2") !== null;
  } catch {
    return false;
  }
}

export class View {
  constructor(stage, recording, beliefs) {
    this.stage = stage;
    this.recording = recording;
    this.renderer = new WebGLRenderer({ antialias: true });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.toneMapping = NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    const canvas = this.renderer.domElement;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "The scene in three dimensions; drag to turn it");
    stage.prepend(canvas);
    this.scene = new Scene();
    this.camera = makeCamera();
    this.controls = new OrbitControls(this.camera, canvas);
    Object.assign(this.controls, { enableDamping: true, minDistance: 0.1, maxDistance: 6, maxPolarAngle: 1.55 });
    this.controls.addEventListener("change", () => (this.stale = true));
    this.tracks = recording.bodies.map((body, index) => this.track(body, index));
    this.water = this.beads();
    this.ghosts = new Ghosts(this, beliefs);
    this.overview = overview(this.tracks, recording.times.length);
    this.lights();
    this.dress();
    this.touched = false;
    this.controls.addEventListener("start", () => (this.touched = true));
    new ResizeObserver(() => this.resize()).observe(stage);
    this.resize();
  }

  track(body, index) {
    const group = bodyGroup(body);
    const bounds = new Box3().setFromObject(group);
    this.scene.add(group);
    const text = vesselLabel(body.name);
    const label = text === null ? null : element("span", "label", text);
    if (label) this.stage.append(label);
    return {
      group,
      index,
      label,
      text,
      top: bounds.isEmpty() ? 0 : bounds.max.z,
      size: bounds.isEmpty() ? 0 : bounds.getSize(new Vector3()).length(),
      foot: this.vector(this.recording.positions, index, { frame: 0, share: 0 }, new Vector3()).z,
      at: (frame) => this.vector(this.recording.positions, index, { frame, share: 0 }, new Vector3()),
    };
  }

  beads() {
    const { particles, particle_radius_m: radius, particle_rgba: [r, g, b, alpha] } = this.recording;
    const count = particles.values.length / particles.frames / 3;
    const material = new MeshStandardMaterial({
      color: new Color().setRGB(r, g, b, SRGBColorSpace), opacity: alpha, transparent: alpha < 1, roughness: 0.12,
    });
    material.emissive.copy(material.color).multiplyScalar(0.22); // water is never quite in the dark
    const water = new InstancedMesh(new IcosahedronGeometry(radius * SWELL, 3), material, count);
    water.instanceMatrix.setUsage(DynamicDrawUsage);
    water.castShadow = true;
    water.frustumCulled = false; // the beads move; the sphere around them would not
    this.scene.add(water);
    return water;
  }

  lights() {
    const { points, direction } = this.overview;
    const box = new Box3().setFromPoints(points).expandByScalar(0.1);
    const centre = box.getCenter(new Vector3());
    const reach = box.getSize(new Vector3()).length();
    this.sky = new HemisphereLight(0xffffff, 0xb9a890, 1.6);
    this.sky.position.set(0, 0, 1);
    const sun = new DirectionalLight(0xfff4e6, 2.3);
    const side = new Vector3().crossVectors(direction, new Vector3(0, 0, 1)).normalize();
    sun.position.copy(centre).addScaledVector(direction, 0.6 * reach).addScaledVector(side, 0.9 * reach);
    sun.position.z += 1.4 * reach;
    sun.target.position.copy(centre);
    sun.castShadow = true;
    sun.shadow.mapSize.set(2048, 2048);
    sun.shadow.radius = 4;
    sun.shadow.bias = -0.0002;
    sun.shadow.normalBias = 0.002;
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.01, far: 4 * reach });
    const fill = new DirectionalLight(0xdfe9ff, 0.6);
    fill.position.copy(centre).addScaledVector(side, -reach).addScaledVector(direction, reach);
    fill.target.position.copy(centre);
    this.scene.add(this.sky, sun, sun.target, fill, fill.target);
  }

  dress() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const change = () => {
      const colour = new Color(dark.matches ? BACKDROP.dark : BACKDROP.light);
      this.scene.background = colour;
      this.scene.fog = new Fog(colour, 1.4, 3.2);
      this.fogFor(this.distance ?? 1);
      this.sky.intensity = dark.matches ? 0.9 : 1.6;
      this.stale = true;
    };
    dark.addEventListener("change", change);
    change();
  }

  // The table goes over into the backdrop a little behind what matters, from wherever one looks.
  fogFor(distance) {
    this.distance = distance;
    Object.assign(this.scene.fog, { near: 1.25 * distance, far: 2.4 * distance });
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (!this.touched) this.reset();
    this.stale = true;
  }

  reset() {
    this.halt();
    const { points, direction } = this.overview;
    this.fogFor(frameAll(this.camera, this.controls, points, direction));
    this.touched = false;
    this.stale = true;
  }

  turnRound() {
    this.halt();
    const { target } = this.controls;
    const back = this.camera.position.clone().sub(target).applyAxisAngle(new Vector3(0, 0, 1), Math.PI);
    this.camera.position.copy(target).add(back);
    this.touched = true;
    this.stale = true;
  }

  // Takes the swing out of the last drag, which would carry the new view away.
  halt() {
    this.controls.enableDamping = false;
    this.controls.update();
    this.controls.enableDamping = true;
  }

  vector(array, index, place, into) {
    return into.set(
      sample(array, 3 * index, place), sample(array, 3 * index + 1, place), sample(array, 3 * index + 2, place),
    );
  }

  show(time) {
    const place = locate(this.recording.times, time);
    for (const { group, index } of this.tracks) {
      this.vector(this.recording.positions, index, place, group.position);
      this.turn(index, place, group.quaternion);
    }
    const matrix = new Matrix4();
    const position = new Vector3();
    for (let i = 0; i < this.water.count; i++) {
      matrix.setPosition(this.vector(this.recording.particles, i, place, position));
      this.water.setMatrixAt(i, matrix);
    }
    this.water.instanceMatrix.needsUpdate = true;
    this.ghosts.show(time);
    this.frame = place.frame;
    this.stale = true;
  }

  turn(index, { frame, share }, into) {
    const at = (place) => {
      const [w, x, y, z] = [0, 1, 2, 3].map((part) => sample(this.recording.quaternions, 4 * index + part, place));
      return new Quaternion(x, y, z, w).normalize();
    };
    into.copy(at({ frame, share: 0 }));
    if (share > 0) into.slerp(at({ frame: frame + 1, share: 0 }), share);
  }

  // Draws only if something has changed: a still picture costs nothing.
  draw() {
    this.controls.update();
    if (!this.stale) return;
    this.stale = false;
    this.renderer.render(this.scene, this.camera);
    for (const track of this.tracks) if (track.label) this.placeLabel(track);
    this.ghosts.place((label, point, shift) => this.placeAt(label, point, shift));
  }

  placeLabel({ group, label, top, foot }) {
    // A vessel that stands has its name at its foot, one in the hand above it: the mouths stay free, where water runs.
    const upright = new Vector3(0, 0, 1).applyQuaternion(group.quaternion);
    const standing = upright.z > 0.97 && group.position.z < foot + 0.03;
    const point = standing ? group.position.clone() : upright.multiplyScalar(top / 2).add(group.position);
    if (!standing) point.z += top / 2 + 0.05;
    label.hidden = this.placeAt(label, point, standing ? "translate(-50%, 15%)" : "translate(-50%, -100%)");
  }

  // Returns whether the point is behind the one who looks.
  placeAt(label, point, shift) {
    point.project(this.camera);
    const { clientWidth: width, clientHeight: height } = this.stage;
    const half = label.offsetWidth / 2 + 4; // a name at the edge stays in the picture
    const x = Math.min(Math.max(((point.x + 1) / 2) * width, half), width - half);
    const y = ((1 - point.y) / 2) * height;
    label.style.transform = `translate(${x}px, ${y}px) ${shift}`;
    return point.z > 1;
  }
}
