/**
 * `make sbom` and `make licenses`: what the production dependencies of package-lock.json are.
 *
 *   node scripts/sbom.ts [--out FILE]   a software bill of materials, CycloneDX 1.5 in JSON
 *   node scripts/sbom.ts --licenses     their licenses; exits with 1 if one is not allowed
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { billOfMaterials } from "./sbom/cyclonedx.ts";
import { licenseReport } from "./sbom/licenses.ts";
import type { Lockfile } from "./sbom/production-packages.ts";

const { values } = parseArgs({ options: { out: { type: "string" }, licenses: { type: "boolean" } } });
const lockfile = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")) as Lockfile;

if (values.licenses) {
  const { ok, lines } = licenseReport(lockfile);
  for (const line of lines) console.log(line);
  process.exitCode = ok ? 0 : 1;
} else {
  const text = `${JSON.stringify(billOfMaterials(lockfile), null, 2)}\n`;
  if (values.out) writeFileSync(values.out, text);
  else process.stdout.write(text);
}
