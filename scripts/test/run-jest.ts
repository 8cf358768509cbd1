import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { requireMongod } from "../../test/helpers/mongod.ts";
import { type Evidence, readEvidence } from "../security/check-items.ts";
import { openMemoryFolder } from "./memory-folder.ts";
import { preparePython } from "./python-clients.ts";
import type { JestResults } from "./summary.ts";

export interface JestRun {
  /** jest also fails without a failed test, such as for a wrong option or a threshold. */
  readonly code: number;
  readonly results: JestResults;
  /** What tests measured for the items of test/security/items.ts. */
  readonly measured: Evidence;
}

/** Prepares MongoDB and Python once, because each jest worker would repeat it, and runs jest with these arguments. */
export async function runJest(root: string, args: readonly string[]): Promise<JestRun> {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const resultFile = join(cache, `test-results-${process.pid}.json`);
  const evidenceFile = join(cache, `security-evidence-${process.pid}.jsonl`);
  const memory = openMemoryFolder();
  try {
    const [mongod, python] = await Promise.all([requireMongod(), preparePython(root)]);
    const environment = {
      ...memory.environment,
      MONGOD: mongod ?? "none",
      SECURITY_EVIDENCE: evidenceFile,
      ...(python === undefined ? {} : { TEST_PYTHON: python }),
    };
    const code = await spawnJest(root, ["--json", `--outputFile=${resultFile}`, ...args], environment);
    const results = JSON.parse(readFileSync(resultFile, "utf8")) as JestResults;
    return { code, results, measured: readEvidence(existsSync(evidenceFile) ? readFileSync(evidenceFile, "utf8") : "") };
  } finally {
    for (const file of [resultFile, evidenceFile]) rmSync(file, { force: true });
    memory.remove();
  }
}

/** Many tests wait, for a process to start or a lease to end. Two workers left the two cores of the machines that run them idle a third of the time. */
const WORKERS = 3;

async function spawnJest(root: string, args: readonly string[], environment: Record<string, string>): Promise<number> {
  const workers = args.includes("--runInBand") ? [] : [`--maxWorkers=${WORKERS}`];
  const options = [...workers, ...(process.env["CI"] ? ["--ci"] : []), ...args];
  const jest = spawn(process.execPath, [join(root, "node_modules/jest/bin/jest.js"), ...options], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "inherit", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => jest.kill(signal));
  const [code] = (await once(jest, "close")) as [number | null];
  return code ?? 1;
}
