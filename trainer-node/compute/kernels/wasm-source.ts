import { ROWS_SOURCE } from "./wasm-rows-source.ts";
import { WIDE_SOURCE } from "./wasm-wide-source.ts";
import { type Code, defineFunction, type FunctionSource, f32, f32x4, f64, f64x2, i32, type Local, loopWhile, v128 } from "./wat.ts";

const VECTOR_BYTES = 16;
const FLOAT_BYTES = 4;
const NOTHING: Code = "";

/** A loop over `count` elements of one size, a vector at a time; the callback gets the offset in bytes. */
function eachVector(
  count: Local,
  at: Local,
  end: Local,
  options: { elementBytesLog2: number; step: number },
  ...body: readonly Code[]
): Code {
  return [
    at.set(i32.constant(0)),
    end.set(i32.shl(count.get, i32.constant(options.elementBytesLog2))),
    loopWhile(i32.less(at.get, end.get), ...body, at.set(i32.add(at.get, i32.constant(options.step)))),
  ].join("\n");
}

const FLOATS = { elementBytesLog2: 2, step: VECTOR_BYTES } as const;

const addScaledFloats = defineFunction(
  "addScaledFloats",
  {
    parameters: { sum: "i32", x: "i32", count: "i32", weight: "f64" },
    locals: { at: "i32", end: "i32", target: "i32", four: "v128", factor: "v128" },
  },
  ({ sum, x, count, weight, at, end, target, four, factor }) => [
    factor.set(f64x2.splat(weight.get)),
    eachVector(
      count,
      at,
      end,
      FLOATS,
      four.set(v128.load(i32.add(x.get, at.get))),
      target.set(i32.add(sum.get, i32.shl(at.get, i32.constant(1)))),
      v128.store(target.get, f64x2.add(v128.load(target.get), f64x2.mul(factor.get, f64x2.promote(four.get)))),
      v128.store(target.get, f64x2.add(v128.load(target.get, 16), f64x2.mul(factor.get, f64x2.promote(v128.upperHalf(four.get)))), 16),
    ),
  ],
);

const addScaledDoubles = defineFunction(
  "addScaledDoubles",
  { parameters: { sum: "i32", x: "i32", count: "i32", weight: "f64" }, locals: { at: "i32", end: "i32", target: "i32", factor: "v128" } },
  ({ sum, x, count, weight, at, end, target, factor }) => [
    factor.set(f64x2.splat(weight.get)),
    eachVector(
      count,
      at,
      end,
      { elementBytesLog2: 3, step: VECTOR_BYTES },
      target.set(i32.add(sum.get, at.get)),
      v128.store(target.get, f64x2.add(v128.load(target.get), f64x2.mul(factor.get, v128.load(i32.add(x.get, at.get))))),
    ),
  ],
);

const bothLanes = (value: Code, other: Code): Code =>
  f64.add(f64.add(f64x2.lane(value, 0), f64x2.lane(other, 0)), f64.add(f64x2.lane(value, 1), f64x2.lane(other, 1)));

interface Reduction {
  readonly elementBytesLog2: number;
  /** Reads the first or second half of four elements as a pair of float64. */
  readonly pair: (at: Code, half: 0 | 1) => Code;
  readonly term: (left: Code, right: Code) => Code;
}

function reduceKernel(name: string, { elementBytesLog2, pair, term }: Reduction): FunctionSource {
  return defineFunction(
    name,
    {
      parameters: { x: "i32", y: "i32", count: "i32" },
      locals: { at: "i32", end: "i32", low: "v128", high: "v128" },
      result: "f64",
    },
    ({ x, y, count, at, end, low, high }) => {
      const [left, right] = [i32.add(x.get, at.get), i32.add(y.get, at.get)];
      return [
        low.set(v128.zero),
        high.set(v128.zero),
        eachVector(
          count,
          at,
          end,
          { elementBytesLog2, step: 4 << elementBytesLog2 },
          low.set(f64x2.add(low.get, term(pair(left, 0), pair(right, 0)))),
          high.set(f64x2.add(high.get, term(pair(left, 1), pair(right, 1)))),
        ),
        bothLanes(low.get, high.get),
      ];
    },
  );
}

const promoteHalf = (at: Code, half: 0 | 1): Code => f64x2.promote(v128.loadLower(at, half * 8));
const squaredDifference = (left: Code, right: Code): Code => f64x2.mul(f64x2.sub(left, right), f64x2.sub(left, right));
const ofFloats = { elementBytesLog2: 2, pair: promoteHalf };
const ofDoubles = { elementBytesLog2: 3, pair: (at: Code, half: 0 | 1) => v128.load(at, half * VECTOR_BYTES) };
const reductions = [
  reduceKernel("dotFloats", { ...ofFloats, term: f64x2.mul }),
  reduceKernel("dotDoubles", { ...ofDoubles, term: f64x2.mul }),
  reduceKernel("distanceFloats", { ...ofFloats, term: squaredDifference }),
  reduceKernel("distanceDoubles", { ...ofDoubles, term: squaredDifference }),
];

const divideToFloats = defineFunction(
  "divideToFloats",
  { parameters: { out: "i32", sum: "i32", count: "i32", divisor: "f64" }, locals: { at: "i32", end: "i32", source: "i32", by: "v128" } },
  ({ out, sum, count, divisor, at, end, source, by }) => [
    by.set(f64x2.splat(divisor.get)),
    eachVector(
      count,
      at,
      end,
      FLOATS,
      source.set(i32.add(sum.get, i32.shl(at.get, i32.constant(1)))),
      v128.store(
        i32.add(out.get, at.get),
        f32x4.lowerPairs(
          f32x4.demote(f64x2.div(v128.load(source.get), by.get)),
          f32x4.demote(f64x2.div(v128.load(source.get, 16), by.get)),
        ),
      ),
    ),
  ],
);

type Lanes = typeof f32x4 | typeof f64x2;

/** A comparator swaps only if the later row has the smaller value: equal values keep their order, zeros their signs. */
function sortKernel(name: string, lanes: Lanes): FunctionSource {
  return defineFunction(
    name,
    {
      parameters: { rows: "i32", rowBytes: "i32", pairs: "i32", pairsEnd: "i32" },
      locals: { at: "i32", left: "i32", right: "i32", a: "v128", b: "v128" },
    },
    ({ rows, rowBytes, pairs, pairsEnd, at, left, right, a, b }) => [
      loopWhile(
        i32.less(pairs.get, pairsEnd.get),
        left.set(i32.add(rows.get, i32.mul(i32.load(pairs.get), rowBytes.get))),
        right.set(i32.add(rows.get, i32.mul(i32.load(pairs.get, 4), rowBytes.get))),
        at.set(i32.constant(0)),
        loopWhile(
          i32.less(at.get, rowBytes.get),
          a.set(v128.load(i32.add(left.get, at.get))),
          b.set(v128.load(i32.add(right.get, at.get))),
          v128.store(i32.add(left.get, at.get), lanes.pseudoMinimum(a.get, b.get)),
          v128.store(i32.add(right.get, at.get), lanes.pseudoMaximum(b.get, a.get)),
          at.set(i32.add(at.get, i32.constant(VECTOR_BYTES))),
        ),
        pairs.set(i32.add(pairs.get, i32.constant(8))),
      ),
    ],
  );
}

/** A kernel that maps up to four float32 arrays of one length: `y[i] = f(y[i], x[i], …)`. */
function mapKernel(
  name: string,
  arrays: 1 | 2 | 3 | 4,
  factors: number,
  body: (vectors: readonly Code[], factors: readonly Code[], store: (array: number, value: Code) => Code) => readonly Code[],
): FunctionSource {
  const names = ["p", "q", "r", "s"].slice(0, arrays);
  const scalars = Array.from({ length: factors }, (_, index) => `scalar${index}`);
  const splats = scalars.map((scalar) => `${scalar}x4`);
  return defineFunction(
    name,
    {
      parameters: Object.fromEntries([
        ...names.map((array) => [array, "i32"]),
        ["count", "i32"],
        ...scalars.map((scalar) => [scalar, "f32"]),
      ]),
      locals: Object.fromEntries([["at", "i32"], ["end", "i32"], ...splats.map((splat) => [splat, "v128"])]),
    },
    (variables) => {
      const variable = (key: string): Local => variables[key] as Local;
      const addresses = names.map((array) => i32.add(variable(array).get, variable("at").get));
      const store = (array: number, value: Code) => v128.store(addresses[array] ?? NOTHING, value);
      return [
        ...scalars.map((scalar) => variable(`${scalar}x4`).set(f32x4.splat(variable(scalar).get))),
        eachVector(
          variable("count"),
          variable("at"),
          variable("end"),
          FLOATS,
          ...body(
            addresses.map((address) => v128.load(address)),
            splats.map((splat) => variable(splat).get),
            store,
          ),
        ),
      ];
    },
  );
}

const elementwise = [
  mapKernel("axpy", 2, 1, ([y = NOTHING, x = NOTHING], [weight = NOTHING], store) => [store(0, f32x4.add(y, f32x4.mul(weight, x)))]),
  mapKernel("scale", 1, 1, ([x = NOTHING], [factor = NOTHING], store) => [store(0, f32x4.mul(x, factor))]),
  mapKernel("relu", 1, 0, ([x = NOTHING], _factors, store) => [store(0, f32x4.pseudoMaximum(x, v128.zero))]),
  mapKernel("reluBackward", 2, 0, ([gradient = NOTHING, output = NOTHING], _factors, store) => [
    store(0, v128.and(gradient, f32x4.greater(output, v128.zero))),
  ]),
  mapKernel(
    "momentumStep",
    3,
    2,
    ([weights = NOTHING, gradient = NOTHING, velocity = NOTHING], [rate = NOTHING, momentum = NOTHING], store) => [
      store(2, f32x4.add(f32x4.mul(momentum, velocity), gradient)),
      store(0, f32x4.sub(weights, f32x4.mul(rate, velocity))),
    ],
  ),
  mapKernel(
    "adamStep",
    4,
    6,
    (
      [weights = NOTHING, gradient = NOTHING, first = NOTHING, second = NOTHING],
      [rate = NOTHING, beta1 = NOTHING, rest1 = NOTHING, beta2 = NOTHING, rest2 = NOTHING, epsilon = NOTHING],
      store,
    ) => [
      store(2, f32x4.add(f32x4.mul(beta1, first), f32x4.mul(rest1, gradient))),
      store(3, f32x4.add(f32x4.mul(beta2, second), f32x4.mul(rest2, f32x4.mul(gradient, gradient)))),
      store(0, f32x4.sub(weights, f32x4.div(f32x4.mul(rate, first), f32x4.add(f32x4.sqrt(second), epsilon)))),
    ],
  ),
  mapKernel("proximal", 3, 1, ([gradient = NOTHING, weights = NOTHING, anchor = NOTHING], [mu = NOTHING], store) => [
    store(0, f32x4.add(gradient, f32x4.mul(mu, f32x4.sub(weights, anchor)))),
  ]),
];

/**
 * c += a·b in tiles that stay in registers: 4 rows by 8 columns, then the rest by 4 columns and by one, and by single rows. Strides are in
 * bytes, so that a transposed `a` uses the same kernel. Every element of c is summed over k upwards, independent of its tile.
 */
const TILE_ROWS = [4, 1] as const;
const TILE_VECTORS = [2, 1, 0] as const;

const gemm = defineFunction(
  "gemm",
  {
    parameters: { c: "i32", a: "i32", b: "i32", rows: "i32", columns: "i32", inner: "i32", aRow: "i32", aColumn: "i32" },
    locals: {
      ...{ i: "i32", j: "i32", k: "i32", rowBytes: "i32", aAt: "i32", bAt: "i32", cAt: "i32", value: "v128", left: "v128", right: "v128" },
      ...{
        t0: "v128",
        t1: "v128",
        t2: "v128",
        t3: "v128",
        t4: "v128",
        t5: "v128",
        t6: "v128",
        t7: "v128",
        s0: "f32",
        s1: "f32",
        s2: "f32",
        s3: "f32",
      },
    },
  },
  (variables) => {
    const { c, a, b, rows, columns, inner, aRow, aColumn, i, j, k, rowBytes, aAt, bAt, cAt, value, left, right } = variables;
    const { t0, t1, t2, t3, t4, t5, t6, t7, s0, s1, s2, s3 } = variables;
    const tiles = [t0, t1, t2, t3, t4, t5, t6, t7];
    const sums = [s0, s1, s2, s3];
    const times = (row: Local, count: number): Code => i32.mul(row.get, i32.constant(count));
    const cRow = (row: number): Code => i32.add(cAt.get, times(rowBytes, row));
    const aCell = (row: number): Code => i32.add(aAt.get, times(aRow, row));

    const vectorTile = (height: number, vectors: 1 | 2): readonly Code[] => {
      const cells = Array.from({ length: height * vectors }, (_, at) => ({
        row: Math.floor(at / vectors),
        vector: at % vectors,
        tile: tiles[at] as Local,
      }));
      return [
        ...cells.map(({ row, vector, tile }) => tile.set(v128.load(cRow(row), vector * VECTOR_BYTES))),
        loopWhile(
          i32.less(k.get, inner.get),
          left.set(v128.load(bAt.get)),
          ...(vectors === 2 ? [right.set(v128.load(bAt.get, VECTOR_BYTES))] : []),
          ...Array.from({ length: height }, (_, row) => [
            value.set(v128.loadSplat(aCell(row))),
            ...cells
              .filter((cell) => cell.row === row)
              .map(({ vector, tile }) => tile.set(f32x4.add(tile.get, f32x4.mul(value.get, (vector === 0 ? left : right).get)))),
          ]).flat(),
          ...nextK,
        ),
        ...cells.map(({ row, vector, tile }) => v128.store(cRow(row), tile.get, vector * VECTOR_BYTES)),
      ];
    };
    const scalarTile = (height: number): readonly Code[] => {
      const cells = sums.slice(0, height);
      return [
        ...cells.map((sum, row) => sum.set(f32.load(cRow(row)))),
        loopWhile(
          i32.less(k.get, inner.get),
          ...cells.map((sum, row) => sum.set(f32.add(sum.get, f32.mul(f32.load(aCell(row)), f32.load(bAt.get))))),
          ...nextK,
        ),
        ...cells.map((sum, row) => f32.store(cRow(row), sum.get)),
      ];
    };
    const nextK = [k.set(i32.add(k.get, i32.constant(1))), aAt.set(i32.add(aAt.get, aColumn.get)), bAt.set(i32.add(bAt.get, rowBytes.get))];
    const jBytes = i32.shl(j.get, i32.constant(2));

    return [
      rowBytes.set(i32.shl(columns.get, i32.constant(2))),
      j.set(i32.constant(0)),
      ...TILE_VECTORS.map((vectors) => {
        const width = vectors === 0 ? 1 : vectors * (VECTOR_BYTES / FLOAT_BYTES);
        return loopWhile(
          i32.lessOrEqual(i32.add(j.get, i32.constant(width)), columns.get),
          i.set(i32.constant(0)),
          ...TILE_ROWS.map((height) =>
            loopWhile(
              i32.lessOrEqual(i32.add(i.get, i32.constant(height)), rows.get),
              k.set(i32.constant(0)),
              aAt.set(i32.add(a.get, i32.mul(i.get, aRow.get))),
              bAt.set(i32.add(b.get, jBytes)),
              cAt.set(i32.add(i32.add(c.get, i32.mul(i.get, rowBytes.get)), jBytes)),
              ...(vectors === 0 ? scalarTile(height) : vectorTile(height, vectors)),
              i.set(i32.add(i.get, i32.constant(height))),
            ),
          ),
          j.set(i32.add(j.get, i32.constant(width))),
        );
      }),
    ];
  },
);

/** The source of all kernels. */
export const KERNEL_SOURCE: readonly FunctionSource[] = [
  addScaledFloats,
  addScaledDoubles,
  ...reductions,
  divideToFloats,
  sortKernel("sortFloats", f32x4),
  sortKernel("sortDoubles", f64x2),
  ...elementwise,
  gemm,
  ...ROWS_SOURCE,
  ...WIDE_SOURCE,
];
