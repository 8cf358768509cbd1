import fc from "fast-check";
import type { Tensor } from "../tensor.ts";
import { aggregateTensors, f32, f64 } from "./aggregate-harness.ts";

const values = (tensors: readonly Tensor[]): number[] => tensors.flatMap(({ data }) => Array.from(data as Float64Array));
const TYPES = { f32, f64 } as const;
type Type = keyof typeof TYPES;

interface Given {
  readonly type?: Type;
  readonly weights?: readonly number[];
  readonly settings?: Readonly<Record<string, unknown>>;
}

function medianOf(rows: readonly (readonly number[])[], { type = "f64", weights, settings = {} }: Given = {}): number[] {
  const clients = rows.map((row) => [TYPES[type](row)]);
  return values(aggregateTensors({ strategy: "geometric_median", clients, settings, ...(weights ? { weights } : {}) }).tensors);
}

const distance = (left: readonly number[], right: readonly number[]): number =>
  Math.hypot(...left.map((value, index) => value - (right[index] as number)));

/** Weiszfeld with as many steps as it takes, from a point near the optimum. */
function exact(rows: readonly (readonly number[])[], start: readonly number[]): number[] {
  let model = [...start];
  for (let step = 0; step < 5000; step++) {
    const inverse = rows.map((row) => 1 / Math.max(1e-9, distance(row, model)));
    const total = inverse.reduce((sum, one) => sum + one, 0);
    model = model.map((_, at) => rows.reduce((sum, row, client) => sum + (row[at] as number) * ((inverse[client] as number) / total), 0));
  }
  return model;
}

const HONEST = Array.from({ length: 6 }, (_, client) => Array.from({ length: 6 }, (_value, at) => Math.sin(client * 7 + at * at + 1)));
const huge = (value: number) => Array.from({ length: 6 }, (_, at) => (at % 2 === 0 ? -value : value));
const CENTER = Array.from({ length: 6 }, (_, at) => HONEST.reduce((sum, row) => sum + (row[at] as number) / 6, 0));

test.each<[Type, number]>([
  ["f32", 1e5],
  ["f32", 1e9],
  ["f32", 1e20],
  ["f32", 3e38],
  ["f64", 1e30],
  ["f64", 1e160],
  ["f64", 1e300],
  ["f64", Number.MAX_VALUE],
])("%s: the geometric median does not follow one update of %d among six others", (type, value) => {
  const rows = [...HONEST, huge(value)];
  // Seen from the others, everything far away in one direction pulls alike.
  const expected = exact([...HONEST, huge(Math.min(value, 1e9))], CENTER);
  expect(distance(medianOf(rows, { type }), expected)).toBeLessThan(1e-3);
  expect(distance(medianOf(rows, { type, settings: { iterations: 1000, tolerance: 0 } }), expected)).toBeLessThan(1e-5);
});

test("many light updates do not decide where the steps begin", () => {
  const liars = Array.from({ length: 9 }, (_, index) => huge(1e38 * (1 + index / 100)));
  const weights = [...HONEST.map(() => 100), ...liars.map(() => 10)];
  expect(distance(medianOf([...HONEST, ...liars], { type: "f32", weights }), CENTER)).toBeLessThan(2);
});

test("the median of every coordinate may be one of the clients: the steps do not stay there", () => {
  const corner = [
    [0, 0],
    [1, 0],
    [0, 1],
  ];
  const fermat = (3 - Math.sqrt(3)) / 6;
  expect(distance(medianOf(corner), [fermat, fermat])).toBeLessThan(1e-3);
});

test("equal updates give exactly themselves, and those of more than half of the weight nearly", () => {
  const [one] = HONEST as [number[]];
  expect(medianOf([one, one])).toEqual(one);
  const most = [...Array.from({ length: 4 }, () => [1, 2]), [1e300, -1e300], [5, 5]];
  expect(distance(medianOf(most), [1, 2])).toBeLessThan(1e-5);
});

test("ordinary updates give what the start at the mean gives in the end", () => {
  const rowsOf = fc.array(fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 5, maxLength: 5 }), {
    minLength: 5,
    maxLength: 12,
  });
  fc.assert(
    fc.property(rowsOf, (rows) => {
      const spread = Math.max(...rows.map((row) => distance(row, rows[0] as number[])));
      const settings = { iterations: 1000, tolerance: 0 };
      const gap = distance(medianOf(rows, { settings }), medianOf(rows, { settings: { ...settings, start: "mean" } }));
      expect(gap).toBeLessThanOrEqual(1e-2 * spread);
    }),
    { numRuns: 20 },
  );
});

const anything = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(1e160, -1e160, Number.MAX_VALUE, -Number.MAX_VALUE, 1e20, 0),
);

test("clients with less than half of the weight move it by no more than the others' spread times a bound of their share", () => {
  const WIDTH = 4;
  const row = (of: fc.Arbitrary<number>) => fc.array(of, { minLength: WIDTH, maxLength: WIDTH });
  const weighted = (of: fc.Arbitrary<number>) =>
    fc.array(fc.record({ row: row(of), weight: fc.integer({ min: 1, max: 9 }) }), { minLength: 1, maxLength: 8 });
  const share = fc.double({ min: 0.01, max: 0.45, noNaN: true });
  fc.assert(
    fc.property(weighted(fc.double({ min: -100, max: 100, noNaN: true })), weighted(anything), share, (honest, liars, part) => {
      const total = (list: readonly { weight: number }[]) => list.reduce((sum, { weight }) => sum + weight, 0);
      const factor = (part * total(honest)) / ((1 - part) * total(liars));
      const given = [...honest, ...liars.map((liar) => ({ ...liar, weight: liar.weight * factor }))];
      const result = medianOf(
        given.map((one) => one.row),
        { weights: given.map(({ weight }) => weight) },
      );
      const sides = Array.from({ length: WIDTH }, (_, at) => {
        const column = honest.map((one) => one.row[at] as number);
        return Math.max(...column) - Math.min(...column);
      });
      // The start is within two diagonals of a point in the box of the others, and no step makes the sum of all distances larger.
      const bound = (3 + (6 * (1 - part)) / (1 - 2 * part)) * Math.hypot(...sides);
      for (const one of honest) expect(distance(result, one.row)).toBeLessThanOrEqual(bound + 1e-4);
    }),
    { numRuns: 150 },
  );
});
