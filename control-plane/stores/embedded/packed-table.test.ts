import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { open } from "lmdb";
import type { IndexValue } from "../collections.ts";
import { compareValues, inRange } from "../order.ts";
import type { Bounds } from "../store.ts";
import { PackedTable } from "./packed-table.ts";
import { PlainTable } from "./plain-table.ts";
import { fieldsOf } from "./record-format.ts";
import type { RecordDatabase, RecordTable } from "./record-table.ts";

interface Row {
  readonly id: IndexValue;
  readonly note: string;
}

const folder = mkdtempSync(join(tmpdir(), "tributary-table-"));
const root = open({ path: join(folder, "table.lmdb"), noSubdir: true, maxDbs: 2000, encoding: "binary" });
afterAll(async () => {
  await root.close();
  rmSync(folder, { recursive: true, force: true });
});

let opened = 0;
function openTables(span: number): { database: RecordDatabase; plain: RecordTable; packed: RecordTable } {
  const database = root.openDB<Buffer, IndexValue | IndexValue[]>(`table ${opened++}`, { encoding: "binary" });
  const names = fieldsOf("ledger").slice(1);
  return {
    database,
    plain: new PlainTable(database, "ledger"),
    packed: new PackedTable(database, { collection: "ledger", span, names }),
  };
}

const numbers = fc.integer({ min: 0, max: 45 });
/** With ids that are shorter than a span, that end where one begins, and that are stored by themselves. */
const texts = fc.oneof(
  {
    arbitrary: fc.tuple(fc.constantFrom("a", "b"), fc.integer({ min: 0, max: 299 })).map(([first, number]) => `${first}${number}`),
    weight: 8,
  },
  { arbitrary: fc.constantFrom("a", "b", "a1", "a1ü", "ü", "a1~", "a1 "), weight: 1 },
);

/** What transactions do: rows come, change, stay or go. */
function histories(ids: fc.Arbitrary<IndexValue>) {
  const change = fc.record({ id: ids, note: fc.option(fc.constantFrom("x", "y", "longer"), { nil: undefined, freq: 4 }) });
  const bound = fc.option(ids, { nil: undefined });
  const range = fc.record({
    from: bound,
    before: bound,
    after: bound,
    reverse: fc.boolean(),
    skip: fc.option(fc.nat(4), { nil: undefined }),
    limit: fc.option(fc.nat(6), { nil: undefined }),
  });
  return fc.tuple(
    fc.array(fc.uniqueArray(change, { selector: ({ id }) => id, maxLength: 30 }), { maxLength: 6 }),
    fc.nat(6),
    fc.array(range, { minLength: 1, maxLength: 8 }),
    fc.array(ids, { maxLength: 10 }),
  );
}

test.each([
  ["numbers", 10, numbers as fc.Arbitrary<IndexValue>],
  ["texts", 2, texts as fc.Arbitrary<IndexValue>],
])("whatever came, changed and went, in batches of any size, rows with %s as ids are read as from memory", (_, span, ids) => {
  fc.assert(
    fc.property(histories(ids), ([transactions, plainUntil, ranges, asked]) => {
      const { database, plain, packed } = openTables(span);
      const rows = new Map<IndexValue, Row>();
      for (const [number, changes] of transactions.entries()) {
        const writes = changes
          .map(({ id, note }) => ({
            collection: "ledger" as const,
            id,
            before: rows.get(id),
            after: note === undefined ? undefined : { id, note },
          }))
          .filter(({ before, after }) => before ?? after);
        // The first of them were written before there were blocks.
        const isPlain = number < plainUntil && writes.every(({ before }) => before === undefined);
        root.transactionSync(() => (isPlain ? plain : packed).apply(writes));
        for (const { id, after } of writes) {
          if (after) rows.set(id, after);
          else rows.delete(id);
        }
      }
      expect(packed.getMany(asked)).toEqual(asked.map((id) => rows.get(id)));
      expect(asked.map((id) => packed.get(id))).toEqual(asked.map((id) => rows.get(id)));
      for (const bounds of ranges.map(asBounds)) {
        expect([...packed.range(bounds)]).toEqual(expected([...rows.values()], bounds));
        expect([...packed.encodedRange(bounds)].map(({ id }) => id)).toEqual(expected([...rows.values()], bounds).map(({ id }) => id));
        expect([...packed.counts(bounds)].reduce((sum, part) => sum + part, 0)).toBe(expected([...rows.values()], bounds).length);
      }
      database.dropSync();
    }),
    { numRuns: 500 },
  );
});

test("rows of a batch are a few keys, and one that exists, in a block or alone, is not inserted again", () => {
  const { database, packed } = openTables(1000);
  const insert = (...ids: number[]) =>
    root.transactionSync(() =>
      packed.apply(ids.map((id) => ({ collection: "ledger" as const, id, before: undefined, after: { id, note: "x" } }))),
    );
  insert(...Array.from({ length: 400 }, (_, id) => 2 * id));
  expect(database.getKeysCount()).toBe(4);
  insert(1);
  for (const taken of [1, 0, 254, 256, 798]) expect(() => insert(taken, 401)).toThrow("exists already");
  expect([...packed.counts({})].reduce((sum, part) => sum + part, 0)).toBe(401);
  insert(401, 3);
  expect([...packed.range({ from: 0, before: 5 })].map(({ id }) => id)).toEqual([0, 1, 2, 3, 4]);
});

test("a block that was replaced under the same key is not read from memory", () => {
  const { packed } = openTables(1000);
  const change = (id: number, before: string | undefined, after: string | undefined) => ({
    collection: "ledger" as const,
    id,
    before: before === undefined ? undefined : { id, note: before },
    after: after === undefined ? undefined : { id, note: after },
  });
  root.transactionSync(() => packed.apply([1, 2, 3].map((id) => change(id, undefined, "x"))));
  expect(packed.get(2)).toEqual({ id: 2, note: "x" });
  root.transactionSync(() => packed.apply([1, 2, 3].map((id) => change(id, "x", "y"))));
  expect(packed.get(2)).toEqual({ id: 2, note: "y" });
});

function asBounds({ after, ...rest }: { after: IndexValue | undefined } & Record<string, unknown>): Bounds {
  const given = Object.entries({ ...rest, after: after === undefined ? undefined : [after] });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Bounds;
}

function expected(rows: readonly Row[], { skip = 0, limit = Number.POSITIVE_INFINITY, ...window }: Bounds): Row[] {
  return rows
    .filter(({ id }) => inRange([id], window))
    .sort((left, right) => compareValues(left.id, right.id) * (window.reverse ? -1 : 1))
    .slice(skip, skip + limit);
}
