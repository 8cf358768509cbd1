import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { open } from "lmdb";
import type { IndexDefinition, IndexValue } from "../collections.ts";
import { compareTuples, inRange } from "../order.ts";
import type { Bounds } from "../store.ts";
import type { IndexDatabase } from "./index-table.ts";
import { PackedIndex } from "./packed-index.ts";
import { PlainIndex } from "./plain-index.ts";

interface Row {
  id: string;
  team: string;
  at: number;
  word: string;
}

const SPAN = 10;
const DEFINITION: IndexDefinition = { fields: ["team", "at"], span: SPAN };
/** Shorter than a span, as long, longer, and such that are a span of their own. */
const WORDS = ["a", "ab", "ab1", "ab2", "ab ", "b", "b1", "b1x", "b1y", "ü", "abü", "ab\u{1F4A7}", "ab\ufffd"];

const folder = mkdtempSync(join(tmpdir(), "tributary-packed-"));
const root = open({ path: join(folder, "index.lmdb"), noSubdir: true, maxDbs: 400, encoding: "binary" });
afterAll(async () => {
  await root.close();
  rmSync(folder, { recursive: true, force: true });
});

let opened = 0;
function openDatabase(): IndexDatabase {
  return root.openDB<Buffer, IndexValue[]>(`index ${opened++}`, { encoding: "binary" });
}

const row = fc.record({
  id: fc.integer({ min: 0, max: 30 }).map((id) => `call_${id}`),
  team: fc.constantFrom("a", "a b", "b"),
  at: fc.integer({ min: 0, max: 45 }),
  word: fc.constantFrom(...WORDS),
});
/** What a transaction does to some ids: they come, move, stay or go. */
const change = fc.oneof({ arbitrary: row, weight: 4 }, { arbitrary: row.map(({ id }) => ({ id })), weight: 1 });
const history = fc.array(fc.uniqueArray(change, { selector: ({ id }) => id, maxLength: 20 }), { maxLength: 6 });
const bound = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const rangesBy = ({ fields }: IndexDefinition) => {
  const last = fields.at(-1) === "at" ? fc.integer({ min: -1, max: 50 }) : fc.constantFrom(...WORDS);
  return fc.record({
    equals:
      fields.length === 1
        ? fc.constantFrom<IndexValue[]>([], ["ab1"])
        : fc.constantFrom<IndexValue[]>([], ["a"], ["a b"], ["b"], ["a", 7], ["c"]),
    from: bound<IndexValue>(last),
    before: bound<IndexValue>(last),
    after: bound(row),
    reverse: fc.boolean(),
    skip: bound(fc.nat(4)),
    limit: bound(fc.nat(6)),
  });
};
type AnyRange = ReturnType<typeof rangesBy> extends fc.Arbitrary<infer Value> ? Value : never;

test.each<IndexDefinition & { span: number }>([
  { fields: ["team", "at"], span: SPAN },
  { fields: ["team", "word"], span: 2 },
  { fields: ["word"], span: 2 },
])("whatever came, moved and went, in batches of any size, every range by $fields is read as sorting in memory would", (definition) => {
  fc.assert(
    fc.property(history, fc.nat(6), fc.array(rangesBy(definition), { minLength: 1, maxLength: 8 }), (transactions, plainUntil, ranges) => {
      const database = openDatabase();
      // The first of them were written before there were blocks.
      const [plain, packed] = [new PlainIndex(database, definition), new PackedIndex(database, definition, definition.span)];
      const rows = new Map<string, Row>();
      for (const [number, changes] of transactions.entries()) {
        const writes = changes.map((next) => ({
          collection: "usage" as const,
          id: next.id,
          before: rows.get(next.id),
          after: "at" in next ? next : undefined,
        }));
        root.transactionSync(() => (number < plainUntil && isNew(writes) ? plain : packed).apply(writes));
        for (const { id, after } of writes) {
          if (after) rows.set(id, after);
          else rows.delete(id);
        }
      }
      for (const bounds of ranges.map((range) => asBounds(range, definition))) {
        const wanted = expected([...rows.values()], bounds, definition);
        expect([...packed.ids(bounds)]).toEqual(wanted);
        expect(sumOf(packed.counts(bounds))).toBe(wanted.length);
      }
      const firsts = [...rows.values()].map((row) => positionOf(row, definition)[0] as IndexValue);
      const asked = ["none", ...firsts, ...firsts.slice(0, 2)];
      expect(packed.idsOfEach(asked)).toEqual(asked.map((value) => expected([...rows.values()], { equals: [value] }, definition)));
      database.dropSync();
    }),
    { numRuns: 300 },
  );
});

test("a batch of one team and one moment is one key", () => {
  const database = openDatabase();
  const packed = new PackedIndex(database, DEFINITION, SPAN);
  const writes = Array.from({ length: 200 }, (_, number) => {
    const after: Row = { id: `call_${number}`, team: "a", at: 40 + (number % SPAN), word: "" };
    return { collection: "usage" as const, id: after.id, before: undefined, after };
  });
  root.transactionSync(() => packed.apply(writes));
  expect(database.getCount()).toBe(1);
  expect(sumOf(packed.counts({ equals: ["a"] }))).toBe(200);
});

test.each([2, 7, 8, 9, 40_000])("a block of %d entries is counted without being unpacked", (length) => {
  const packed = new PackedIndex(openDatabase(), DEFINITION, SPAN);
  const writes = Array.from({ length }, (_, number) => {
    const after: Row = { id: `call_${number}`, team: "a", at: 40, word: "" };
    return { collection: "usage" as const, id: after.id, before: undefined, after };
  });
  root.transactionSync(() => packed.apply(writes));
  expect([...packed.counts({ equals: ["a"] })]).toEqual([length]);
  expect(sumOf(packed.counts({ equals: ["a"], from: 41 }))).toBe(0);
});

const sumOf = (parts: Iterable<number>) => [...parts].reduce((sum, part) => sum + part, 0);

/** A plain index could not take a row out of a block. */
function isNew(writes: readonly { before: Row | undefined }[]): boolean {
  return writes.every(({ before }) => before === undefined);
}

function positionOf(row: Row, { fields }: IndexDefinition): IndexValue[] {
  return [...fields.map((field) => row[field as keyof Row]), row.id];
}

function asBounds({ after, ...rest }: AnyRange, definition: IndexDefinition): Bounds {
  const given = Object.entries({ ...rest, after: after && positionOf(after, definition) }).filter(([, value]) => value !== undefined);
  // Bounds are those of the field after `equals`: here the last.
  const isLast = rest.equals.length === definition.fields.length - 1;
  return Object.fromEntries(given.filter(([name]) => (name !== "from" && name !== "before") || isLast)) as Bounds;
}

function expected(
  rows: readonly Row[],
  { skip = 0, limit = Number.POSITIVE_INFINITY, ...window }: Bounds,
  definition: IndexDefinition,
): string[] {
  return rows
    .map((row) => ({ id: row.id, position: positionOf(row, definition) }))
    .filter(({ position }) => inRange(position, window))
    .sort((left, right) => compareTuples(left.position, right.position) * (window.reverse ? -1 : 1))
    .slice(skip, skip + limit)
    .map(({ id }) => id);
}
