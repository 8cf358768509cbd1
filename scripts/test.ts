/**
 * `make test`: prepares what tests need, runs jest, and prints a summary line at the end. Arguments are passed to jest. A run of everything
 * also checks the security items against its results, so that no test runs twice.
 */
import { resolve } from "node:path";
import { SECURITY_ITEMS } from "../test/security/items.ts";
import { type CheckedItem, checkItems, itemsLine } from "./security/check-items.ts";
import { type JestRun, runJest } from "./test/run-jest.ts";
import { countLine, summarize } from "./test/summary.ts";

const root = resolve(import.meta.dirname, "..");
const args = process.argv.slice(2);

try {
  const run = await runJest(root, args);
  const { passed, failed, skipped } = summarize(run.results);
  for (const name of skipped) console.log(`skipped: ${name}`);
  const failedItems = args.length === 0 ? checkSecurity(run).filter(({ holds }) => !holds).length : 0;
  process.exitCode = failed > 0 || failedItems > 0 || passed === 0 || run.code !== 0 ? 1 : 0;
  console.log(countLine({ passed, failed: failed + failedItems, skipped }));
} catch (error) {
  process.exitCode = 1;
  console.error(error instanceof Error ? error.message : String(error));
  console.log(countLine({ passed: 0, failed: 1, skipped: [] }));
}

function checkSecurity({ results, measured }: JestRun): CheckedItem[] {
  const checked = checkItems(SECURITY_ITEMS, { results, root, measured });
  for (const { line } of checked) console.log(line);
  console.log(`security: ${itemsLine(checked)}`);
  return checked;
}
