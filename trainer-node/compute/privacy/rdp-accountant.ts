/**
 * What rounds of clipped and noised updates tell about one participant, as Rényi differential privacy (Mironov 2017): one number for each
 * order, and the numbers of rounds add up. A list of them is the whole state, and JSON carries it.
 */
export type RenyiSpent = readonly number[];

export interface PrivateRound {
  /** Standard deviation of the noise on the sum, in units of the clip norm. */
  readonly noiseMultiplier: number;
  /** Share of the participants that a round takes; 1 where absent. */
  readonly samplingRate?: number;
  /**
   * How they are taken. "poisson" (default): each by its own coin, and the bound is about one more or one fewer participant.
   * "fixed_size": a set of a fixed size, and the bound is about one participant in another's place, which moves the sum twice as far.
   */
  readonly sampling?: "poisson" | "fixed_size";
}

/** 1.1 to 10.9 by tenths, then 11 to 512. */
export const RENYI_ORDERS: readonly number[] = [
  ...Array.from({ length: 99 }, (_, index) => (index + 11) / 10),
  ...Array.from({ length: 502 }, (_, index) => index + 11),
];

export const NOTHING_SPENT: RenyiSpent = RENYI_ORDERS.map(() => 0);

export function addRounds(spent: RenyiSpent, round: PrivateRound, rounds = 1): RenyiSpent {
  if (!(rounds >= 0)) throw new RangeError(`a number of rounds is 0 or more, not ${rounds}`);
  const each = renyiOf(round);
  return spent.map((value, index) => value + (rounds === 0 ? 0 : rounds * (each[index] as number)));
}

/** The least epsilon that holds with this delta: min over the orders of rdp + log(1 / delta) / (order - 1). */
export function epsilonOf(spent: RenyiSpent, delta: number): number {
  if (!(delta > 0 && delta < 1)) throw new RangeError(`delta is between 0 and 1, not ${delta}`);
  if (spent.every((value) => value === 0)) return 0;
  return RENYI_ORDERS.reduce(
    (least, order, index) => Math.min(least, (spent[index] ?? Number.POSITIVE_INFINITY) - Math.log(delta) / (order - 1)),
    Number.POSITIVE_INFINITY,
  );
}

/** One round's Rényi divergence at every order. Without noise it is infinite. */
export function renyiOf({ noiseMultiplier, samplingRate = 1, sampling = "poisson" }: PrivateRound): number[] {
  if (!(noiseMultiplier >= 0)) throw new RangeError(`a noise multiplier is 0 or more, not ${noiseMultiplier}`);
  if (!(samplingRate >= 0 && samplingRate <= 1)) throw new RangeError(`a sampling rate is between 0 and 1, not ${samplingRate}`);
  if (samplingRate === 0) return RENYI_ORDERS.map(() => 0);
  if (noiseMultiplier === 0) return RENYI_ORDERS.map(() => Number.POSITIVE_INFINITY);
  if (sampling === "poisson") {
    if (samplingRate === 1) return RENYI_ORDERS.map((order) => gaussian(order, noiseMultiplier));
    return atOrders((order) => poissonLogMoment(order, samplingRate, noiseMultiplier));
  }
  // One in another's place moves the clipped sum by up to two clip norms.
  const deviation = noiseMultiplier / 2;
  const whole = RENYI_ORDERS.map((order) => gaussian(order, deviation));
  if (samplingRate === 1) return whole;
  // To take part less often never tells more; the bound for small rates is above the plain one where the rate is large.
  return atOrders((order) => fixedSizeLogMoment(order, samplingRate, deviation)).map((value, index) =>
    Math.min(value, whole[index] as number),
  );
}

/** Of the Gaussian mechanism on a sum that one participant moves by at most 1. */
function gaussian(order: number, deviation: number): number {
  return order / (2 * deviation ** 2);
}

/**
 * From log moments at whole orders to divergences at every order. The log moment (order - 1) · rdp is convex in the order and 0 at 1, so
 * a straight line between two whole orders is above it: a bound that is safe and hardly larger.
 */
function atOrders(logMoment: (order: number) => number): number[] {
  const known = new Map<number, number>([[1, 0]]);
  const at = (order: number): number => {
    const value = known.get(order) ?? logMoment(order);
    known.set(order, value);
    return value;
  };
  return RENYI_ORDERS.map((order) => {
    const below = Math.floor(order);
    const share = order - below;
    const moment = share === 0 ? at(below) : (1 - share) * at(below) + share * at(below + 1);
    return moment / (order - 1);
  });
}

/** Mironov, Talwar and Zhang 2019: log Σ C(a, k) (1 - q)^(a - k) q^k exp((k² - k) / 2σ²), exact at whole orders. */
function poissonLogMoment(order: number, rate: number, deviation: number): number {
  const [stay, take, half] = [Math.log1p(-rate), Math.log(rate), 1 / (2 * deviation ** 2)];
  for (let k = 0; k <= order; k++) TERMS[k] = logChoose(order, k) + (order - k) * stay + k * take + (k * k - k) * half;
  return logSum(order + 1);
}

/** Wang, Balle and Kasiviswanathan 2019, theorem 9, for a mechanism whose divergence has no bound as the order grows. */
function fixedSizeLogMoment(order: number, rate: number, deviation: number): number {
  const take = Math.log(rate);
  const two = gaussian(2, deviation);
  TERMS[0] = 0;
  TERMS[1] = 2 * take + logChoose(order, 2) + Math.min(Math.log(4) + Math.log(Math.expm1(two)), two + Math.LN2);
  for (let j = 3; j <= order; j++) TERMS[j - 1] = j * take + logChoose(order, j) + (j - 1) * gaussian(j, deviation) + Math.LN2;
  return logSum(order);
}

const ORDER_MAX = 512;
/** Room for the terms of one sum; there are hundreds of sums for a round. */
const TERMS = new Float64Array(ORDER_MAX + 1);
const LOG_FACTORIALS = new Float64Array(ORDER_MAX + 1);
for (let value = 2; value <= ORDER_MAX; value++) LOG_FACTORIALS[value] = (LOG_FACTORIALS[value - 1] as number) + Math.log(value);

function logChoose(from: number, count: number): number {
  return (LOG_FACTORIALS[from] as number) - (LOG_FACTORIALS[count] as number) - (LOG_FACTORIALS[from - count] as number);
}

/** Terms that are this much below the largest, in powers of e, are lost in its rounding. */
const NEGLIGIBLE = -45;

/** log Σ exp of the first so many terms. */
function logSum(count: number): number {
  let top = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < count; index++) top = Math.max(top, TERMS[index] as number);
  let sum = 0;
  for (let index = 0; index < count; index++) {
    const below = (TERMS[index] as number) - top;
    if (below > NEGLIGIBLE) sum += Math.exp(below);
  }
  return top + Math.log(sum);
}
