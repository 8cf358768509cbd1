/** `make test`: prepares what tests need, runs jest, and prints a summary line at the end. Arguments are passed to jest. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { requireMongod } from "../test/helpers/mongod.ts";
import { preparePython } from "./test/python-clients.ts";
import { countLine, type JestResults, summarize } from "./test/summary.ts";

const root = resolve(import.meta.dirname, "..");
const resultFile = join(root, ".cache", `test-results-${process.pid}.json`);

try {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const [mongod, python] = await Promise.all([requireMongod(), preparePython(root)]);
  const jestCode = await runJest({ MONGOD: mongod ?? "none", ...(python === undefined ? {} : { TEST_PYTHON: python }) });
  const summary = summarize(JSON.parse(readFileSync(resultFile, "utf8")) as JestResults);
  for (const name of summary.skipped) console.log(`skipped: ${name}`);
  // jest also fails without a failed test, such as for a wrong option or a threshold.
  process.exitCode = summary.failed > 0 || summary.passed === 0 || jestCode !== 0 ? 1 : 0;
  console.log(countLine(summary));
} catch (error) {
  process.exitCode = 1;
  console.error(error instanceof Error ? error.message : String(error));
  console.log(countLine({ passed: 0, failed: 1, skipped: [] }));
} finally {
  rmSync(resultFile, { force: true });
}

/** Set up once and passed by environment, because each jest worker would repeat it. */
async function runJest(environment: Record<string, string>): Promise<number> {
  const options = [
    "--maxWorkers=2",
    "--json",
    `--outputFile=${resultFile}`,
    ...(process.env["CI"] ? ["--ci"] : []),
    ...process.argv.slice(2),
  ];
  const jest = spawn(process.execPath, [join(root, "node_modules/jest/bin/jest.js"), ...options], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "inherit", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => jest.kill(signal));
  const [code] = (await once(jest, "close")) as [number | null];
  return code ?? 1;
}
