/**
 * `make test`: prepares what tests need, runs jest, and prints what failed and a summary line at the end. Arguments are passed to jest. A run of
 * everything also checks the security items against its results, so that no test runs twice. In it, files that failed beside others run once
 * more, alone: what passes then is named as unsteady.
 */
import { resolve } from "node:path";
import { SECURITY_ITEMS } from "../test/security/items.ts";
import { type CheckedItem, checkItems, itemsLine } from "./security/check-items.ts";
import { type JestRun, runJest } from "./test/run-jest.ts";
import { countLine, failedFiles, failureLines, summarize, withRerun } from "./test/summary.ts";

/** More failed files than that are no matter of chance. */
const FILES_RUN_AGAIN_MAX = 4;

const root = resolve(import.meta.dirname, "..");
const args = process.argv.slice(2);

try {
  const everything = args.length === 0;
  const run = everything ? await runTwice() : await runJest(root, args);
  const { passed, failed, skipped } = summarize(run.results);
  for (const name of skipped) console.log(`skipped: ${name}`);
  for (const line of failureLines(run.results, root)) console.log(line);
  const failedItems = everything ? checkSecurity(run).filter(({ holds }) => !holds).length : 0;
  process.exitCode = failed > 0 || failedItems > 0 || passed === 0 || run.code !== 0 ? 1 : 0;
  console.log(countLine({ passed, failed: failed + failedItems, skipped }));
} catch (error) {
  process.exitCode = 1;
  console.error(error instanceof Error ? error.message : String(error));
  console.log(countLine({ passed: 0, failed: 1, skipped: [] }));
}

async function runTwice(): Promise<JestRun> {
  const run = await runJest(root, []);
  const files = failedFiles(run.results);
  if (files.length === 0 || files.length > FILES_RUN_AGAIN_MAX) return run;
  const first = failureLines(run.results, root);
  console.log([`${files.length} files run again, alone, for:`, ...first].join("\n"));
  // A file that leaves something open must not hold the run: beside others, its worker is ended.
  const again = await runJest(root, ["--runInBand", "--forceExit", "--runTestsByPath", ...files]);
  const failedAgain = new Set(failedFiles(again.results));
  const passedAlone = files.filter((file) => !failedAgain.has(file));
  for (const line of failureLines(run.results, root, passedAlone)) console.log(line.replace("FAILED", "UNSTEADY"));
  return { code: again.code, results: withRerun(run.results, again.results), measured: new Map([...run.measured, ...again.measured]) };
}

function checkSecurity({ results, measured }: JestRun): CheckedItem[] {
  const checked = checkItems(SECURITY_ITEMS, { results, root, measured });
  for (const { line } of checked) console.log(line);
  console.log(`security: ${itemsLine(checked)}`);
  return checked;
}
