// Bodies as meshes: MuJoCo's primitives, whose long axis is z.
import {
  BoxGeometry, CanvasTexture, CapsuleGeometry, Color, CylinderGeometry, Group, Mesh, MeshStandardMaterial,
  PlaneGeometry, RepeatWrapping, SphereGeometry, SRGBColorSpace,
} from "three";

const SEE_THROUGH = 0.34; // so that one sees how full a vessel is
const ENDLESS_M = 20;

const GEOMETRIES = {
  box: ([x, y, z]) => new BoxGeometry(2 * x, 2 * y, 2 * z),
  sphere: ([radius]) => new SphereGeometry(radius, 32, 16),
  cylinder: ([radius, half]) => new CylinderGeometry(radius, radius, 2 * half, 40).rotateX(Math.PI / 2),
  capsule: ([radius, half]) => new CapsuleGeometry(radius, 2 * half, 8, 32).rotateX(Math.PI / 2),
  plane: ([x, y]) => new PlaneGeometry(2 * (x || ENDLESS_M), 2 * (y || ENDLESS_M)),
};

export function vesselLabel(name) {
  return name.match(/^cup_(.+)$/)?.[1] ?? (/^[A-Z]$|^pitcher/.test(name) ? name : null);
}

export function bodyGroup(body) {
  const group = new Group();
  const vessel = vesselLabel(body.name) !== null;
  for (const geom of body.geoms) {
    if (geom.rgba[3] > 0) group.add(solid(geom, vessel));
  }
  return group;
}

function solid(geom, vessel) {
  const mesh = new Mesh(GEOMETRIES[geom.shape](geom.size), material(geom, vessel));
  mesh.position.fromArray(geom.pos);
  const [w, x, y, z] = geom.quat;
  mesh.quaternion.set(x, y, z, w).normalize();
  mesh.castShadow = geom.shape !== "plane";
  mesh.receiveShadow = !vessel;
  mesh.renderOrder = vessel ? 1 : 0;
  return mesh;
}

function material(geom, vessel) {
  const [r, g, b, alpha] = geom.rgba;
  const opacity = vessel ? SEE_THROUGH * alpha : alpha;
  const made = new MeshStandardMaterial({
    color: new Color().setRGB(r, g, b, SRGBColorSpace),
    opacity,
    transparent: opacity < 1,
    depthWrite: opacity === 1,
    roughness: vessel ? 0.2 : 0.55,
  });
  if (geom.shape === "plane") {
    made.map = planks(2 * (geom.size[0] || ENDLESS_M), 2 * (geom.size[1] || ENDLESS_M));
    made.roughness = 0.8;
  }
  return made;
}

// A quiet grain in grey, tinted by the colour of the table: enough to see that it is one, and how far things are.
function planks(width, depth) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 512;
  const paint = canvas.getContext("2d");
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let row = 0; row < 4; row++) {
    const shade = 232 + Math.round(18 * random());
    paint.fillStyle = `rgb(${shade} ${shade} ${shade})`;
    paint.fillRect(0, row * 128, 512, 128);
    for (let line = 0; line < 26; line++) {
      paint.fillStyle = `rgb(90 70 50 / ${0.02 + 0.05 * random()})`;
      paint.fillRect(0, row * 128 + 128 * random(), 512, 0.5 + 2 * random());
    }
    paint.fillStyle = "rgb(60 45 30 / 0.35)";
    paint.fillRect(0, row * 128, 512, 1.5);
  }
  const texture = new CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = RepeatWrapping;
  texture.repeat.set(width / 0.6, depth / 0.6);
  texture.colorSpace = SRGBColorSpace;
  texture.anisotropy = 8;
  return texture;
}
