/** Participants that are sampled for each round, independently of each other, in secret. */
export interface ClientSampling {
  /** The probability that a participant takes part in a round. */
  readonly share: number;
  /** How many participants there are to sample from. */
  readonly participants: number;
}

/**
 * The epsilon of so many rounds of the Gaussian mechanism over sampled participants (Mironov, Talwar and Zhang 2019): an observer of the results
 * and not the sample cannot be sure that a participant was in it. Every order gives an epsilon that holds, so orders that are not tried only
 * make it larger.
 */
export function sampledEpsilon(
  { noiseMultiplier, delta }: { readonly noiseMultiplier: number; readonly delta: number },
  { rounds, sampling }: { readonly rounds: number; readonly sampling: ClientSampling },
): number {
  const epsilonAt = (logarithm: number): number => {
    const order = 1 + Math.exp(logarithm);
    const divergence = logMoment(order, noiseMultiplier, sampling) / (order - 1);
    return rounds * divergence + Math.log1p(-1 / order) - Math.log(delta * order) / (order - 1);
  };
  const step = (LOG_ORDER.max - LOG_ORDER.min) / GRID;
  const tried = Array.from({ length: GRID + 1 }, (_, index) => LOG_ORDER.min + index * step);
  const best = tried.reduce((left, right) => (epsilonAt(right) < epsilonAt(left) ? right : left));
  return Math.max(0, least(epsilonAt, best - step, best + step));
}

const LOG_ORDER = { min: Math.log(0.05), max: Math.log(1023) };
const GRID = 30;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

function least(of: (at: number) => number, from: number, to: number): number {
  let [low, high] = [from, to];
  for (let step = 0; step < 20; step++) {
    const [left, right] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
    if (of(left) < of(right)) high = right;
    else low = left;
  }
  return of((low + high) / 2);
}

/**
 * The logarithm of the moment that the divergence at an order is made of. A round is never without participants: an empty sample is drawn
 * again. If the others are not in it, the participant is, so the moment of that case is that of a participant who always takes part.
 */
function logMoment(order: number, noiseMultiplier: number, { share, participants }: ClientSampling): number {
  const others = (participants - 1) * Math.log1p(-share);
  const alone = Math.log(share) + others - Math.log(-Math.expm1(others + Math.log1p(-share)));
  const always = (order * (order - 1)) / (2 * noiseMultiplier ** 2);
  return logSum(Math.log1p(-Math.exp(alone)) + poissonMoment(order, noiseMultiplier, share), alone + always);
}

/** E[((1 - q) + q exp((2x - 1) / 2s²))^order] over x ~ N(0, s²), by the trapezoidal rule, which converges fast for such integrands. */
function poissonMoment(order: number, deviation: number, share: number): number {
  const [variance, width] = [deviation ** 2, Math.min(deviation, deviation ** 2) / 12];
  const [from, to] = [-TAIL * deviation, order + TAIL * deviation];
  const count = Math.ceil((to - from) / width);
  const logs = new Float64Array(count + 1);
  let largest = Number.NEGATIVE_INFINITY;
  for (let index = 0; index <= count; index++) {
    const x = from + index * width;
    const mixture = logSum(Math.log1p(-share), Math.log(share) + (2 * x - 1) / (2 * variance));
    const value = order * mixture - x ** 2 / (2 * variance);
    logs[index] = value;
    if (value > largest) largest = value;
  }
  let sum = 0;
  for (const value of logs) sum += Math.exp(value - largest);
  return largest + Math.log(sum * width) - Math.log(deviation * Math.sqrt(2 * Math.PI));
}

/** Beyond so many deviations nothing counts. */
const TAIL = 12;

function logSum(left: number, right: number): number {
  const [high, low] = left > right ? [left, right] : [right, left];
  return low === Number.NEGATIVE_INFINITY ? high : high + Math.log1p(Math.exp(low - high));
}
