import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { SECURITY_ITEMS } from "../../test/security/items.ts";
import type { JestResults } from "../test/summary.ts";
import { checkItems, itemsLine, readEvidence, type SecurityItem } from "./check-items.ts";

const root = resolve(import.meta.dirname, "../..");
const FILE = "test/a.test.ts";
const NO_EVIDENCE = readEvidence("");

const jestTest = (title: string, status = "passed", block = "a block") => ({
  title,
  ancestorTitles: [block],
  fullName: `${block} ${title}`,
  status,
  failureMessages: [],
});

function resultsOf(...assertionResults: ReturnType<typeof jestTest>[]): JestResults {
  const testResults = [{ name: join(root, FILE), status: "passed", assertionResults }];
  return { numPassedTests: 0, numFailedTests: 0, numRuntimeErrorTestSuites: 0, testResults };
}

const item = (...names: string[]): SecurityItem => ({ id: "S-01", guarantee: "it is safe", tests: [[FILE, ...names]] });
const check = (one: SecurityItem, results: JestResults) => checkItems([one], { results, root, measured: NO_EVIDENCE })[0];

test.each([
  ["a test by its title", item("the first")],
  ["a test by its full name", item("a block the first")],
  ["all tests of a block", item("a block")],
  ["a title with a part that varies", item("the *st")],
])("an item that names %s holds if it passed", (_what, one) => {
  expect(check(one, resultsOf(jestTest("the first")))).toEqual({
    holds: true,
    line: `S-01 holds  it is safe (1 tests: ${FILE})`,
  });
});

test.each([
  ["names no test", { ...item(), tests: [] }, "it names no test"],
  ["names a file only", item(), "it names no test"],
  ["names a test that is not there", item("the third"), `no such test: ${FILE}: the third`],
  ["names a test of another file", { ...item(), tests: [["test/b.test.ts", "the first"]] as const }, "no such test: test/b.test.ts"],
  ["names a failed test", item("the second"), "failed: a block the second"],
  ["names a skipped test", item("left out"), "pending: a block left out"],
  ["has one failed test in its block", item("a block"), "failed: a block the second"],
  ["has a name that matches only in part", item("first"), "no such test"],
])("an item that %s fails", (_what, one, problem) => {
  const checked = check(one, resultsOf(jestTest("the first"), jestTest("the second", "failed"), jestTest("left out", "pending")));
  expect(checked).toEqual({ holds: false, line: expect.stringMatching(/^S-01 FAILS {2}it is safe: /) });
  expect(checked?.line).toContain(problem);
});

test("what tests measured is in the item's line, each once", () => {
  const lines = [
    { item: "S-01", measured: "80 guesses" },
    { item: "S-01", measured: "80 guesses" },
    { item: "S-02", measured: "other" },
  ].map((line) => `${JSON.stringify(line)}\n`);
  const checked = checkItems([item("the first")], {
    results: resultsOf(jestTest("the first")),
    root,
    measured: readEvidence(lines.join("")),
  });
  expect(checked[0]?.line).toBe(`S-01 holds  it is safe [80 guesses] (1 tests: ${FILE})`);
  expect(itemsLine(checked)).toBe("1 hold, 0 fail");
});

test("the items are S-01 to S-60, F1 to F16 and N1 to N7, each once and in order, and their files exist", () => {
  const numbered = (prefix: string, count: number, width = 1) =>
    Array.from({ length: count }, (_, index) => `${prefix}${String(index + 1).padStart(width, "0")}`);
  expect(SECURITY_ITEMS.map(({ id }) => id)).toEqual([...numbered("S-", 60, 2), ...numbered("F", 16), ...numbered("N", 7)]);
  const files = SECURITY_ITEMS.flatMap(({ tests }) => tests.map(([file]) => file));
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
