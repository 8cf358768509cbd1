import { join } from "node:path";
import type { JestResults, JestTest } from "../test/summary.ts";

/** A security guarantee and the tests that prove it. */
export interface SecurityItem {
  readonly id: string;
  /** The guarantee, in one sentence. */
  readonly guarantee: string;
  /** Files with the names of tests or describe blocks in them; `*` stands for any text. */
  readonly tests: readonly (readonly [file: string, ...names: string[]])[];
}

export interface CheckedItem {
  readonly holds: boolean;
  readonly line: string;
}

/** What tests measured, by item. */
export type Evidence = ReadonlyMap<string, readonly string[]>;

/** An item holds if it names tests, each name is found in the results, and every test found passed. */
export function checkItems(
  items: readonly SecurityItem[],
  found: { results: JestResults; root: string; measured: Evidence },
): CheckedItem[] {
  const byFile = new Map(found.results.testResults.map((suite) => [suite.name, suite.assertionResults]));
  return items.map(({ id, guarantee, tests }) => {
    const references = tests.flatMap(([file, ...names]) => names.map((name) => ({ file, name })));
    const matched = references.map(({ file, name }) => ({
      where: `${file}: ${name}`,
      tests: findTests(byFile.get(join(found.root, file)) ?? [], name),
    }));
    const problems = matched.flatMap((reference) => problemsOf(reference));
    if (references.length === 0) problems.push("it names no test");
    const count = new Set(matched.flatMap(({ tests: these }) => these)).size;
    const files = [...new Set(references.map(({ file }) => file))].join(", ");
    const measured = found.measured.get(id) ?? [];
    const proof = measured.length === 0 ? guarantee : `${guarantee} [${measured.join("; ")}]`;
    const line = problems.length === 0 ? `holds  ${proof} (${count} tests: ${files})` : `FAILS  ${guarantee}: ${problems.join("; ")}`;
    return { holds: problems.length === 0, line: `${id.padEnd(4)} ${line}` };
  });
}

/** "80 hold, 0 fail". */
export function itemsLine(checked: readonly CheckedItem[]): string {
  const holding = checked.filter(({ holds }) => holds).length;
  return `${holding} hold, ${checked.length - holding} fail`;
}

/** Reads the lines that test/helpers/evidence.ts wrote. */
export function readEvidence(text: string): Evidence {
  const lines = text.split("\n").filter((line) => line !== "");
  const parsed = lines.map((line) => JSON.parse(line) as { item: string; measured: string });
  return new Map(Object.entries(Object.groupBy(parsed, ({ item }) => item)).map(([item, list = []]) => [item, measuredOnce(list)]));
}

const measuredOnce = (list: readonly { measured: string }[]) => [...new Set(list.map(({ measured }) => measured))];

function problemsOf({ where, tests }: { where: string; tests: readonly JestTest[] }): string[] {
  if (tests.length === 0) return [`no such test: ${where}`];
  return tests.filter(({ status }) => status !== "passed").map(({ status, fullName }) => `${status}: ${fullName}`);
}

function findTests(tests: readonly JestTest[], name: string): JestTest[] {
  const pattern = new RegExp(`^${name.split("*").map(escaped).join(".*")}$`, "s");
  return tests.filter(({ title, fullName, ancestorTitles }) => [title, fullName, ...ancestorTitles].some((text) => pattern.test(text)));
}

const escaped = (text: string) => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
