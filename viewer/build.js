// Bundles the replay into the Python package, with the licence of what it contains.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const licence = readFileSync("node_modules/three/LICENSE", "utf8").trim();
const { version } = JSON.parse(readFileSync("node_modules/three/package.json", "utf8"));

// Lets a test tell whether the built file belongs to these sources.
const sources = ["package-lock.json", ...readdirSync("src").sort().map((name) => `src/${name}`)];
const hash = createHash("sha256");
for (const name of sources) hash.update(readFileSync(name));

await build({
  entryPoints: ["src/main.js"],
  outfile: "../lab/src/aquamend_lab/pouring/replay/assets/replay.js",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none", // the banner says it once, in full
  banner: { js: `/*!\nBuilt from viewer/ by \`npm run build\`; sources ${hash.digest("hex")}.\nContains three.js ${version}:\n\n${licence}\n*/` },
});
