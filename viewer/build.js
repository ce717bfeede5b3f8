// Bundles the pages' scripts into the Python packages, each with the licences of what it contains.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

const PRODUCT = "../src/aquamend";
const LABORATORY = "../lab/src/aquamend_lab";
const BUNDLES = [
  { entry: "src/story/main.tsx", script: `${PRODUCT}/story/assets/story.js`, styles: { "src/shared/palette.css": `${PRODUCT}/story/assets/palette.css`, "src/shared/page.css": `${PRODUCT}/story/assets/story.css` } },
  { entry: "src/studio/main.tsx", script: `${PRODUCT}/studio/assets/studio.js`, styles: { "src/studio/studio.css": `${PRODUCT}/studio/assets/studio.css` } },
  { entry: "src/studio/editor.tsx", script: `${PRODUCT}/studio/assets/editor.js`, styles: {} },
  { entry: "src/report/main.tsx", script: `${LABORATORY}/analysis/report/assets/report.js`, styles: { "src/report/report.css": `${LABORATORY}/analysis/report/assets/report.css` } },
  { entry: "src/replay/main.js", script: `${LABORATORY}/pouring/assets/replay.js`, styles: { "src/replay/replay.css": `${LABORATORY}/pouring/assets/replay.css` } },
];

// Lets a test tell whether a built file belongs to these sources.
const hash = createHash("sha256");
const sources = readdirSync("src", { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => `${entry.parentPath}/${entry.name}`).sort();
for (const name of ["package-lock.json", ...sources]) hash.update(readFileSync(name));
const digest = hash.digest("hex");

function licences(inputs) {
  const packages = new Set(inputs.map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean));
  return [...packages].sort().map((name) => {
    const folder = `node_modules/${name}`;
    const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((each) => `${folder}/${each}`).find((each) => existsSync(each));
    return `${name} ${version} (${license}):\n\n${file ? readFileSync(file, "utf8").trim() : license}`;
  });
}

for (const { entry, script, styles } of BUNDLES) {
  mkdirSync(dirname(script), { recursive: true });
  const options = { entryPoints: [entry], bundle: true, minify: true, format: "iife", target: ["es2022"], charset: "utf8", legalComments: "none", jsx: "automatic", jsxImportSource: "preact", metafile: true };
  const { metafile } = await build({ ...options, write: false, outfile: script });
  const contains = licences(Object.keys(metafile.inputs)).join("\n\n");
  await build({ ...options, outfile: script, banner: { js: `/*!\nBuilt from viewer/ by \`npm run build\`; sources ${digest}.\nContains\n\n${contains.replaceAll("*/", "* /")}\n*/` } });
  for (const [from, to] of Object.entries(styles)) copyFileSync(from, to);
}
