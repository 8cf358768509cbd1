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
  return logSum(
    Array.from(
      { length: order + 1 },
      (_, k) => logChoose(order, k) + (order - k) * Math.log1p(-rate) + k * Math.log(rate) + (k * k - k) / (2 * deviation ** 2),
    ),
  );
}

/** Wang, Balle and Kasiviswanathan 2019, theorem 9, for a mechanism whose divergence has no bound as the order grows. */
function fixedSizeLogMoment(order: number, rate: number, deviation: number): number {
  const rdp = (at: number): number => gaussian(at, deviation);
  const pair = Math.min(Math.log(4) + Math.log(Math.expm1(rdp(2))), rdp(2) + Math.log(2));
  const terms = [0, 2 * Math.log(rate) + logChoose(order, 2) + pair];
  for (let j = 3; j <= order; j++) terms.push(j * Math.log(rate) + logChoose(order, j) + (j - 1) * rdp(j) + Math.log(2));
  return logSum(terms);
}

const LOG_FACTORIALS: number[] = [0];

function logFactorial(value: number): number {
  for (let next = LOG_FACTORIALS.length; next <= value; next++) LOG_FACTORIALS.push((LOG_FACTORIALS[next - 1] as number) + Math.log(next));
  return LOG_FACTORIALS[value] as number;
}

function logChoose(from: number, count: number): number {
  return logFactorial(from) - logFactorial(count) - logFactorial(from - count);
}

function logSum(terms: readonly number[]): number {
  const top = terms.reduce((most, term) => Math.max(most, term), Number.NEGATIVE_INFINITY);
  return top + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - top), 0));
}
