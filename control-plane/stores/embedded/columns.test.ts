import fc from "fast-check";
import { Columns, packColumns } from "./columns.ts";

/** Objects as programs make them. */
const WITH_PROTOTYPE = { noNullPrototype: true };
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const text = fc.string({ unit: "grapheme", maxLength: 4 });
const whole = fc.oneof(fc.integer(), fc.maxSafeInteger());
const big = fc.oneof(fc.bigInt({ min: 0n, max: 100n }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
const hex = fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("hex"));

/** Rows as a batch may have them: the same, close to each other, of one kind, or of any. */
const row = fc.record(
  {
    same: fc.constant("team_1"),
    // MessagePack has no -0.
    number: fc.oneof(
      whole,
      fc.double().map((value) => value + 0),
    ),
    whole,
    amount: big,
    digits: hex,
    word: text,
    list: fc.array(text, { maxLength: 2 }),
    counts: fc.oneof(
      fc.record({ input: fc.nat(), output: fc.nat(), source: text }, WITH_PROTOTYPE),
      fc.record({ input: fc.nat(), left: maybe(fc.nat()) }, { ...WITH_PROTOTYPE, requiredKeys: ["input"] }),
      fc.array(fc.record({ status: fc.nat() }, WITH_PROTOTYPE), { maxLength: 2 }),
    ),
    any: fc.oneof(fc.boolean(), whole, big, text, fc.constant(null)),
  },
  { ...WITH_PROTOTYPE, requiredKeys: ["same", "whole"] },
);
const NAMES = ["same", "number", "whole", "amount", "digits", "word", "list", "counts", "any", "none"];

test("rows are read as they were written, with what differs and what does not, in the order of their fields", () => {
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), (rows) => {
      const columns = new Columns(packColumns(rows, NAMES));
      expect([columns.rows, columns.count]).toEqual([rows.length, NAMES.length]);
      const read = rows.map((_, row) => NAMES.map((_name, column) => columns.value(column, row)));
      const written = rows.map((each) => NAMES.map((name) => (each as Record<string, unknown>)[name] ?? null));
      expect(read).toStrictEqual(written);
      // The order of fields is part of what a row's hash covers.
      expect(JSON.stringify(read.map((values) => values[7]))).toBe(JSON.stringify(written.map((values) => values[7])));
    }),
    { numRuns: 2_000 },
  );
});

test("a column of a form that is not known is refused instead of being read as something else", () => {
  const bytes = packColumns([{ id: 1 }], ["id"]);
  // The form of the only column, after the lengths of both lists and the count.
  bytes[3] = 99;
  expect(() => new Columns(bytes)).toThrow("later release");
});
