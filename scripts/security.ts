/**
 * `make security`: runs the tests that test/security/items.ts names and prints a line per item with what was measured. Arguments select
 * items: `make security ARGS="S-27 F7"`.
 */
import { resolve } from "node:path";
import { SECURITY_ITEMS } from "../test/security/items.ts";
import { checkItems, itemsLine } from "./security/check-items.ts";
import { runJest } from "./test/run-jest.ts";

const root = resolve(import.meta.dirname, "..");
const ids = process.argv.slice(2);
const items = SECURITY_ITEMS.filter(({ id }) => ids.length === 0 || ids.includes(id));
const files = [...new Set(items.flatMap(({ tests }) => tests.map(([file]) => file)))].sort();

const { results, measured } = await runJest(root, ["--silent", "--runTestsByPath", ...files]);
const checked = checkItems(items, { results, root, measured });
for (const { line } of checked) console.log(line);
console.log(itemsLine(checked));
process.exitCode = checked.length > 0 && checked.every(({ holds }) => holds) ? 0 : 1;
