/** A seeded stream of random numbers: the same seed gives the same stream on every node. Not for secrets. */
export interface SeededRandom {
  /** A number in [0, 1) with 53 bits. */
  uniform(): number;
  /** An integer in 0 .. limit-1. */
  below(limit: number): number;
  normal(): number;
}

/** The largest seed. */
export const SEED_MAX = Number.MAX_SAFE_INTEGER;

/** sfc32 (Practically Random, C. Doty-Humphrey), seeded with both halves of the seed and the stream's purpose. */
export function createRandom(seed: number, purpose: number): SeededRandom {
  let a = seed >>> 0;
  let b = Math.floor(seed / 2 ** 32) >>> 0;
  let c = purpose >>> 0;
  let counter = 1;
  const next = (): number => {
    const sum = (((a + b) >>> 0) + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + sum) >>> 0;
    return sum;
  };
  for (let round = 0; round < 15; round++) next();
  const uniform = () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
  return {
    uniform,
    below: (limit) => Math.floor(uniform() * limit),
    // Box-Muller; 1 - u keeps the logarithm away from zero.
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
  };
}

/** Purposes of random streams, so that streams of one seed differ. */
export const PURPOSE = { initialize: 1, shuffle: 2, partition: 3, generate: 4, write: 5, synthetic: 1024 } as const;

/** Shuffles in place (Fisher-Yates). */
export function shuffle(order: Int32Array, random: SeededRandom): Int32Array {
  for (let last = order.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    const held = order[last] as number;
    order[last] = order[other] as number;
    order[other] = held;
  }
  return order;
}

/** The indices 0 .. count-1, shuffled. */
export function shuffledIndices(count: number, random: SeededRandom): Int32Array {
  return shuffle(
    Int32Array.from({ length: count }, (_, index) => index),
    random,
  );
}

/** The logarithm of one Gamma(shape, 1) draw, because for a small shape the draw itself underflows to zero. Marsaglia and Tsang 2000. */
function logGamma(shape: number, random: SeededRandom): number {
  if (shape < 1) return logGamma(shape + 1, random) + Math.log(1 - random.uniform()) / shape;
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = random.normal();
    const v = (1 + c * x) ** 3;
    if (v <= 0) continue;
    const u = 1 - random.uniform();
    if (Math.log(u) < 0.5 * x * x + d - d * v + d * Math.log(v)) return Math.log(d * v);
  }
}

/** One draw of a symmetric Dirichlet: `count` shares that sum to 1. */
export function dirichlet(alpha: number, count: number, random: SeededRandom): Float64Array {
  const logs = Float64Array.from({ length: count }, () => logGamma(alpha, random));
  const top = logs.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  const shares = logs.map((value) => Math.exp(value - top));
  const sum = shares.reduce((total, value) => total + value, 0);
  return shares.map((value) => value / sum);
}
