/**
 * `make ship-check`: what is shipped, checked by the tools of those who read it, without a container engine or a cluster: Dockerfile, compose
 * files, systemd units, Helm chart, and the npm package installed from the registry. Tools are fetched once into .cache/ship.
 */
import { resolve } from "node:path";
import { fileChecks } from "./ship/check-files.ts";
import { checkInstalledPackage } from "./ship/check-package.ts";
import { shipTools } from "./ship/tools.ts";

const root = resolve(import.meta.dirname, "..");
const only = process.argv[2];
const checks: Readonly<Record<string, () => string | Promise<string>>> = {
  ...fileChecks(root, shipTools(root)),
  "npm package (npm install, npx tributary)": () => checkInstalledPackage(root),
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  if (only !== undefined && !name.includes(only)) continue;
  try {
    console.log(`ok   ${name}: ${await check()}`);
  } catch (cause) {
    failed += 1;
    console.log(`FAIL ${name}\n     ${(cause as Error).message}`);
  }
}
process.exitCode = failed === 0 ? 0 : 1;
