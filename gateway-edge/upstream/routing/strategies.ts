import { type Random, randomFraction } from "../../../common/random.ts";
import type { Target } from "./deployment-settings.ts";
import type { HealthReading } from "./health.ts";
import type { StrategyName } from "./settings.ts";

/** A deployment that may be called now, with its health at this moment. */
export interface Candidate {
  readonly target: Target;
  readonly health: HealthReading;
}

export interface PickInput {
  readonly candidates: readonly Candidate[];
  readonly stream: boolean;
  readonly random: Random;
}

/** One of the candidates; there is at least one. */
export function pick(strategy: StrategyName, input: PickInput): Candidate {
  const candidates = partOf(input);
  const [only] = candidates;
  if (only && candidates.length === 1) return only;
  return PICK[strategy]({ ...input, candidates });
}

/**
 * Of deployments that split the calls of one model among its versions, those of one version: chosen by the shares, so that a canary gets
 * its share however fast, cheap or idle it is, and however many nodes serve it. The strategy picks among those.
 */
function partOf({ candidates, random }: PickInput): readonly Candidate[] {
  const parts = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const { split } = candidate.target.settings;
    if (split === undefined) return candidates;
    if (!parts.has(split)) parts.set(split, candidate);
  }
  if (parts.size < 2) return candidates;
  const { target } = pickByWeight({ candidates: [...parts.values()], stream: false, random });
  return candidates.filter((candidate) => candidate.target.settings.split === target.settings.split);
}

const PICK: Readonly<Record<StrategyName, (input: PickInput) => Candidate>> = {
  "simple-shuffle": pickByWeight,
  "least-busy": (input) => pickLowest(input, ({ health }) => health.inFlight),
  "latency-based-routing": pickFasterOfTwo,
  "usage-based-routing": pickLeastUsed,
  "cost-based-routing": (input) => pickLowest(input, ({ target }) => priceOf(target)),
};

/** By weight, otherwise rpm, otherwise tpm: by the first that any candidate has (without it: 0); otherwise uniformly. */
function pickByWeight({ candidates, random }: PickInput): Candidate {
  const weight = weightOf(candidates.map(({ target }) => target));
  if (!weight) return pickAny(candidates, random);
  const weights = candidates.map(({ target }) => weight(target));
  let left = randomFraction(random) * weights.reduce((total, weight) => total + weight, 0);
  let last: Candidate | undefined;
  for (const [index, candidate] of candidates.entries()) {
    const own = weights[index] ?? 0;
    if (own === 0) continue;
    last = candidate;
    left -= own;
    if (left < 0) break;
  }
  return last ?? pickAny(candidates, random);
}

/** The weight of these targets; undefined: none of them has any. */
export function weightOf(targets: readonly Target[]): ((target: Target) => number) | undefined {
  const read = WEIGHTS.find((each) => targets.some((target) => (each(target) ?? 0) > 0));
  return read && ((target) => read(target) ?? 0);
}

const WEIGHTS: readonly ((target: Target) => number | undefined)[] = [
  ({ settings }) => settings.weight,
  ({ settings }) => settings.requestsPerMinute,
  ({ settings }) => settings.tokensPerMinute,
];

/**
 * Two at random, the one with the smaller peak EWMA × (in flight + 1). Two choices, because all edges would pick the one best; an unknown
 * latency is tried first, but by one request at a time.
 */
function pickFasterOfTwo({ candidates, stream, random }: PickInput): Candidate {
  const firstIndex = Math.floor(randomFraction(random) * candidates.length);
  const step = 1 + Math.floor(randomFraction(random) * (candidates.length - 1));
  const first = at(candidates, firstIndex);
  const second = at(candidates, (firstIndex + step) % candidates.length);
  return loadOf(second.health, stream) < loadOf(first.health, stream) ? second : first;
}

const UNKNOWN_BUT_BUSY = 1e12;

export function loadOf(health: HealthReading, stream: boolean): number {
  const latency = stream ? health.streamLatency : health.wholeLatency;
  return latency === 0 && health.inFlight > 0 ? UNKNOWN_BUT_BUSY + health.inFlight : latency * (health.inFlight + 1);
}

/** Fewest tokens this minute; as a share of tpm when every candidate has one. */
function pickLeastUsed(input: PickInput): Candidate {
  const byShare = input.candidates.every(({ target }) => (target.settings.tokensPerMinute ?? 0) > 0);
  return pickLowest(input, ({ target, health }) => health.tokensThisMinute / (byShare ? (target.settings.tokensPerMinute ?? 1) : 1));
}

/** A deployment without a price counts as the most expensive. Compared, never charged, so a float is enough. */
export function priceOf({ deployment }: Target): number {
  const pricing = deployment.model?.pricing;
  return pricing ? Number(pricing.input + pricing.output) : Number.POSITIVE_INFINITY;
}

/** The lowest; a random one of equals, so that none of them is left out. */
function pickLowest({ candidates, random }: PickInput, measure: (candidate: Candidate) => number): Candidate {
  const lowest = Math.min(...candidates.map(measure));
  return pickAny(
    candidates.filter((candidate) => measure(candidate) === lowest),
    random,
  );
}

function pickAny(candidates: readonly Candidate[], random: Random): Candidate {
  return at(candidates, Math.floor(randomFraction(random) * candidates.length));
}

function at(candidates: readonly Candidate[], index: number): Candidate {
  const candidate = candidates[index];
  if (!candidate) throw new RangeError("no candidate to pick from");
  return candidate;
}
