import { readFileSync } from "node:fs";
import { join } from "node:path";

interface PackageJson {
  readonly version: string;
  readonly engines: { readonly node: string };
}

/** Read once, so that files replaced under a running process do not change what it says of itself. */
const described = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8")) as PackageJson;

/** The version of this process. */
export const VERSION: string = described.version;

/** The oldest Node that the package runs on. */
export const NODE_MIN: string = described.engines.node.replace(/^>=/, "");

/** Whether a version of Node is not older than another, by major and minor. */
export function isNodeSince(version: string, oldest: string): boolean {
  const [[major = 0, minor = 0], [oldMajor = 0, oldMinor = 0]] = [version.split(".").map(Number), oldest.split(".").map(Number)] as const;
  return major > oldMajor || (major === oldMajor && minor >= oldMinor);
}
