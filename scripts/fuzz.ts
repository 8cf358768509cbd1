/**
 * `make fuzz`: hostile inputs for every reader of bytes, in this process and over sockets of a running system, and schemathesis on its
 * OpenAPI document. Prints a line per target; fails if an input has an effect that it must not have, or a process ends, hangs or answers
 * with an unintended 5xx. `--target name --seed n --case n` repeats one case.
 */
import { parseArgs } from "node:util";
import { allTargets, errorLines, partsOf } from "../test/fuzz/all-targets.ts";
import { type FuzzTarget, runCase, runTarget } from "../test/fuzz/target.ts";
import { call } from "../test/helpers/api.ts";
import { type System, startSystem } from "../test/helpers/system.ts";
import { fuzzApi } from "./fuzz/schemathesis.ts";

const BUDGET_MS = 1_800_000;

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: process.env["FUZZ_CASES"] ?? "100000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    target: { type: "string" },
    case: { type: "string" },
    "no-api": { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
let failed = 0;

const system = await startSystem({ trainer: true, coordinator: true });
try {
  const targets = (await allTargets(system)).filter(({ name }) => values.target === undefined || values.target === name);
  if (values.case === undefined) await fuzzAll(targets);
  else for (const target of targets) report(target.name, [await runCase(target, seed, Number(values.case))]);
  if (values.target === undefined && !values["no-api"]) failed += await fuzzApi(system, seed);
  await checkProcesses(system);
} finally {
  await system.stop();
}
console.log(`fuzz: seed ${seed}, ${failed} failures`);
process.exitCode = failed > 0 ? 1 : 0;

async function fuzzAll(targets: readonly FuzzTarget[]): Promise<void> {
  let total = 0;
  for (const { target, cases } of partsOf(targets, Number(values.cases))) {
    const outcome = await runTarget(target, { seed, cases, budgetMs: BUDGET_MS });
    total += outcome.cases;
    console.log(`${target.name.padEnd(18)} ${String(outcome.cases).padStart(7)} cases in ${(outcome.tookMs / 1000).toFixed(1)} s`);
    report(target.name, outcome.failures);
  }
  console.log(`${"all".padEnd(18)} ${String(total).padStart(7)} cases`);
}

function report(name: string, problems: readonly (string | undefined)[]): void {
  for (const problem of problems) {
    if (problem === undefined) {
      console.log(`${name}: nothing wrong`);
      continue;
    }
    failed++;
    console.log(`FAILED ${problem}`);
  }
}

/** 0 exits, 0 hangs, 0 unintended 5xx: each of them leaves an error line. */
async function checkProcesses(running: System): Promise<void> {
  const lines = errorLines(running);
  for (const line of lines.slice(0, 20)) console.log(`FAILED error line: ${line.slice(0, 1000)}`);
  failed += lines.length;
  for (const url of [running.url, running.trainerUrl]) {
    const { status } = await call(url, "GET", "/health");
    if (status >= 500) failed++;
    console.log(`${url} answers ${status} after all of it`);
  }
}
