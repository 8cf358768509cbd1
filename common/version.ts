import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The version of this process, read once, so that files replaced under a running process do not change it. */
export const VERSION: string = versionOf(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));

function versionOf(packageJson: string): string {
  return (JSON.parse(packageJson) as { version: string }).version;
}
