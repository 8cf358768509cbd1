/**
 * Builds what is published: `dist/package` (compiled; what `npm install` and the image get), with --pack its npm archive, with --wheel the
 * wheel of the Python SDK. The version of all of them is that of package.json.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildPackage } from "./package/build-package.ts";
import { buildWheel } from "./package/build-wheel.ts";

const root = resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: { out: { type: "string", default: "dist" }, pack: { type: "boolean" }, wheel: { type: "boolean" } },
});
const out = resolve(values.out);
const folder = join(out, "package");
mkdirSync(out, { recursive: true });

console.log(`${buildPackage(root, folder)} files in ${folder}`);
if (values.pack) {
  const options = ["pack", "--silent", "--pack-destination", out, folder];
  console.log(join(out, execFileSync("npm", options, { encoding: "utf8", cwd: out }).trim()));
}
if (values.wheel) console.log(buildWheel(root, out));
