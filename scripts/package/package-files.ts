import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** What the package contains, beside its package.json: the rooms, what `make run` needs of scripts, and what is generated. */
const ROOMS = [
  ...["common", "control-plane", "gateway-edge", "trainer-node", "cli", "proto", "scripts/supervisor", "console/dist"],
  // Own strategies in Python, and Python functions of simulations.
  "sdk/python/src/tributary_participant",
];
const FILES = [
  "scripts/run.ts",
  "scripts/tributary.ts",
  "README.md",
  "LICENSE",
  "examples/litellm-config.yaml",
  "docs/settings.md",
  "docs/llms.txt",
  "docs/agents.md",
];
/** The guides are part of what `make package` makes; tests of the package build it without them. */
const SITE = "docs/.vitepress/dist";

/** Product code imports none of these (.dependency-cruiser.cjs). */
const FOR_TESTS = /(\.test|-contract|-fixture|-harness)\.ts$|\/__fixtures__\//;
/** Stamps of make, declarations without code, and what Python caches. */
const NOT_SHIPPED = /\/\.[^/]+$|\.d\.ts$|\/__pycache__\//;

/** What has to be built before; without it the package would start and fail later. */
const BUILT = [
  "proto/gen/.generated",
  "console/dist/index.html",
  "trainer-node/compute/kernels/gen/kernels-wasm.ts",
  "common/strategies/gen/strategies.ts",
  "gateway-edge/server/reference/gen/gw-commands.ts",
];

/** Paths of all files of the package, within the repository. */
export function packageFiles(root: string): string[] {
  const missing = BUILT.filter((path) => statSync(join(root, path), { throwIfNoEntry: false }) === undefined);
  if (missing.length > 0) throw new Error(`${missing.join(", ")}: not built yet; run make generate console`);
  const rooms = existsSync(join(root, SITE)) ? [...ROOMS, SITE] : ROOMS;
  const inRooms = rooms.flatMap((room) => filesIn(root, room)).filter((path) => !FOR_TESTS.test(path) && !NOT_SHIPPED.test(path));
  return [...inRooms, ...FILES];
}

function filesIn(root: string, folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}
