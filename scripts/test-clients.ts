/** `make test-clients`: real clients against the gateway with a scripted upstream; prints one line per case and client. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { missingCases } from "../test/clients/conformance/required.ts";
import { preparePython } from "./test/python-clients.ts";

interface Line {
  readonly id?: string;
  readonly client: string;
  readonly ok?: boolean;
  readonly problem?: string;
  readonly version?: string;
}

const root = resolve(import.meta.dirname, "..");
const resultFile = join(root, ".cache", `client-results-${process.pid}.jsonl`);

try {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const python = await preparePython(root);
  const jestCode = await runJest({ CONFORMANCE_RESULTS: resultFile, ...(python === undefined ? {} : { TEST_PYTHON: python }) });
  const lines = readLines();
  // A run of chosen files has only their cases.
  const missing = process.argv.length > 2 ? [] : missingCases(lines);
  const failed = report([...lines, ...missing.map((each) => ({ ...each, ok: false, problem: "the case was not run" }))]);
  process.exitCode = jestCode === 0 && failed === 0 ? 0 : 1;
} catch (error) {
  process.exitCode = 1;
  console.error(error instanceof Error ? error.message : String(error));
} finally {
  rmSync(resultFile, { force: true });
}

async function runJest(environment: Record<string, string>): Promise<number> {
  const options = ["--maxWorkers=2", "--silent", ...process.argv.slice(2)];
  const jest = spawn(process.execPath, [join(root, "node_modules/jest/bin/jest.js"), "test/clients/conformance", ...options], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "inherit", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => jest.kill(signal));
  const [code] = (await once(jest, "close")) as [number | null];
  return code ?? 1;
}

function readLines(): Line[] {
  if (!existsSync(resultFile)) return [];
  return readFileSync(resultFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

/** Prints everything and returns the number of failures; no tests at all count as a failure. */
function report(lines: readonly Line[]): number {
  const cases = lines.filter((line) => line.id !== undefined).sort(byIdThenClient);
  for (const { id, client, ok, problem } of cases) console.log(`${id} ${client} ${ok ? "pass" : `FAIL ${problem?.split("\n")[0] ?? ""}`}`);
  const versions = new Map(lines.flatMap(({ client, version }) => (version === undefined ? [] : [[client, version] as const])));
  for (const [client, version] of [...versions].sort()) console.log(`client ${client}: ${version}`);
  const failed = cases.filter(({ ok }) => !ok).length;
  console.log(`clients: ${cases.length - failed} passed, ${failed} failed`);
  return cases.length === 0 ? 1 : failed;
}

function byIdThenClient(left: Line, right: Line): number {
  const key = ({ id = "", client }: Line) => `${id.replace(/\d+/, (digits) => digits.padStart(3, "0"))} ${client}`;
  return key(left) < key(right) ? -1 : 1;
}
