import { type Code, defineFunction, type FunctionSource, f32x4, f64x2, i32, type Local, loopWhile, v128 } from "./wat.ts";

const VECTOR_BYTES = 16;
/**
 * Numbers of rows per pass, largest first. A core has many reads from memory in flight, but only near ahead in each row: sixteen rows are
 * read twice as fast as four, and weights that no longer fit in registers cost less than that.
 */
export const ROWS_AT_A_TIME = [16, 8, 4, 2, 1] as const;

/** The variant of a pass kernel. */
export interface PassKind {
  readonly rows: (typeof ROWS_AT_A_TIME)[number];
  /** Initializes the sums; otherwise they are loaded. */
  readonly first: boolean;
  /** Divides the sums and writes them as float32; otherwise they are stored. */
  readonly last: boolean;
}

/** The name of a pass kernel. */
export function passName({ rows, first, last }: PassKind): string {
  return `combine${rows}${first ? "First" : ""}${last ? "Last" : ""}`;
}

/** A kernel for eight columns at a time of some rows: the sums are loaded and stored once for all rows, or never. */
function passKernel(kind: PassKind): FunctionSource {
  const numbers = [...Array(kind.rows).keys()];
  const named = <Type extends string>(prefix: string, type: Type): Record<string, Type> =>
    Object.fromEntries(numbers.map((number) => [`${prefix}${number}`, type]));
  return defineFunction(
    passName(kind),
    {
      parameters: { out: "i32", sum: "i32", bytes: "i32", divisor: "f64", ...named("row", "i32"), ...named("weight", "f64") },
      locals: {
        at: "i32",
        target: "i32",
        row: "i32",
        a: "v128",
        b: "v128",
        c: "v128",
        d: "v128",
        by: "v128",
        ...named("factor", "v128"),
      },
    },
    (locals) => {
      const one = (name: string): Local => (locals as Record<string, Local>)[name] as Local;
      const [at, target, row, by] = [one("at"), one("target"), one("row"), one("by")];
      const sums = [one("a"), one("b"), one("c"), one("d")] as [Local, Local, Local, Local];
      const term = (number: number, pair: number): Code =>
        f64x2.mul(one(`factor${number}`).get, f64x2.promote(v128.loadLower(row.get, 8 * pair)));
      const divided = (low: Local, high: Local): Code =>
        f32x4.lowerPairs(f32x4.demote(f64x2.div(low.get, by.get)), f32x4.demote(f64x2.div(high.get, by.get)));
      return [
        ...numbers.map((number) => one(`factor${number}`).set(f64x2.splat(one(`weight${number}`).get))),
        by.set(f64x2.splat(one("divisor").get)),
        at.set(i32.constant(0)),
        loopWhile(
          i32.less(at.get, one("bytes").get),
          target.set(i32.add(one("sum").get, i32.shl(at.get, i32.constant(1)))),
          ...(kind.first ? [] : sums.map((pair, index) => pair.set(v128.load(target.get, VECTOR_BYTES * index)))),
          ...numbers.flatMap((number) => [
            row.set(i32.add(one(`row${number}`).get, at.get)),
            ...sums.map((pair, index) =>
              pair.set(kind.first && number === 0 ? term(number, index) : f64x2.add(pair.get, term(number, index))),
            ),
          ]),
          ...(kind.last
            ? [
                row.set(i32.add(one("out").get, at.get)),
                v128.store(row.get, divided(sums[0], sums[1])),
                v128.store(row.get, divided(sums[2], sums[3]), VECTOR_BYTES),
              ]
            : sums.map((pair, index) => v128.store(target.get, pair.get, VECTOR_BYTES * index))),
          at.set(i32.add(at.get, i32.constant(2 * VECTOR_BYTES))),
        ),
      ];
    },
  );
}

const SIDES = [true, false];
/** The source of all pass kernels. */
export const ROWS_SOURCE: readonly FunctionSource[] = ROWS_AT_A_TIME.flatMap((rows) =>
  SIDES.flatMap((first) => SIDES.map((last) => passKernel({ rows, first, last }))),
);
