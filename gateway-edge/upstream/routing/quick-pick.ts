import { type Random, randomFraction } from "../../../common/random.ts";
import type { Target } from "./deployment-settings.ts";
import { isFree } from "./eligible.ts";
import { type Health, type Load, MINUTE_MS } from "./health.ts";
import type { RouterSettings, StrategyName } from "./settings.ts";
import { loadOf } from "./strategies.ts";
import { type TargetTable, tableOf } from "./target-table.ts";

export interface QuickPick {
  readonly health: Health;
  readonly settings: RouterSettings;
  readonly strategy: StrategyName;
  readonly random: Random;
  readonly tokens: number;
  readonly stream: boolean;
  /** Wall clock. */
  nowMs(): number;
  /** The deployment that served the caller before; read once. */
  preferredId(): string | undefined;
}

/** A smaller group is checked completely, which is as fast. */
const TARGETS_MIN = 16;

/**
 * Picks a deployment of a large group before the health of any is known, and checks only that one. Undefined when it may not be called now:
 * then all are checked and the strategy picks among the free ones. Both ways together pick as the second alone: a free deployment is picked
 * with its own probability, and the probability of the others is distributed again in the same proportions.
 */
export function quickPick(targets: readonly Target[], input: QuickPick): Target | undefined {
  if (targets.length < TARGETS_MIN) return undefined;
  const table = tableOf(targets);
  if (table.isSplit) return undefined;
  const preferredId = input.preferredId();
  if (preferredId !== undefined) {
    const preferred = table.byId.get(preferredId);
    return preferred && isFree(preferred, input) ? preferred : undefined;
  }
  const target = PICK[input.strategy](table, input);
  return target && isFree(target, input) ? target : undefined;
}

type Pick = (table: TargetTable, input: QuickPick) => Target | undefined;

const PICK: Readonly<Record<StrategyName, Pick>> = {
  "simple-shuffle": pickByWeight,
  "least-busy": ({ first }, { health, random }) =>
    pickLowest({ targets: first, loads: health.loadsOf(first), measure: ({ inFlight }) => inFlight, random }),
  "latency-based-routing": pickFasterOfTwo,
  "usage-based-routing": pickLeastUsed,
  "cost-based-routing": ({ cheapest }, { random }) => pickAny(cheapest, random),
};

function pickByWeight({ first, weightsUpTo }: TargetTable, { random }: QuickPick): Target | undefined {
  if (!weightsUpTo) return pickAny(first, random);
  const drawn = randomFraction(random) * (weightsUpTo.at(-1) ?? 0);
  // The first whose sum is above the drawn number.
  let [low, high] = [0, weightsUpTo.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((weightsUpTo[middle] ?? 0) > drawn) high = middle;
    else low = middle + 1;
  }
  return first[low];
}

/** As in a small group: two at random, and both must be free. */
function pickFasterOfTwo({ first }: TargetTable, input: QuickPick): Target | undefined {
  const { random, health, stream } = input;
  const index = Math.floor(randomFraction(random) * first.length);
  const step = 1 + Math.floor(randomFraction(random) * (first.length - 1));
  const [one, other] = [first[index], first[(index + step) % first.length]];
  if (!one || !other || !isFree(one, input) || !isFree(other, input)) return undefined;
  const loadAt = (target: Target) => loadOf(health.read(target.deployment.id), stream);
  return loadAt(other) < loadAt(one) ? other : one;
}

/** Fewest tokens this minute; as a share of tpm when every one has one. */
function pickLeastUsed({ first, haveTokenLimits }: TargetTable, { health, random, nowMs }: QuickPick): Target | undefined {
  const thisMinute = Math.floor(nowMs() / MINUTE_MS);
  const used = ({ minute, tokens }: Load) => (minute === thisMinute ? tokens : 0);
  const share = (load: Load, { settings }: Target) => used(load) / (settings.tokensPerMinute ?? 1);
  return pickLowest({ targets: first, loads: health.loadsOf(first), measure: haveTokenLimits ? share : used, random });
}

/** Any of those with the lowest measure. Two passes over numbers without allocations: this runs over thousands of deployments for every call. */
function pickLowest({ targets, loads, measure, random }: Lowest): Target | undefined {
  let [least, count] = [Number.POSITIVE_INFINITY, 0];
  for (let index = 0; index < loads.length; index++) {
    const measured = measure(loads[index] as Load, targets[index] as Target);
    if (measured > least) continue;
    count = measured < least ? 1 : count + 1;
    least = measured;
  }
  let left = Math.floor(randomFraction(random) * count);
  for (let index = 0; index < loads.length; index++) {
    const target = targets[index] as Target;
    if (measure(loads[index] as Load, target) === least && left-- === 0) return target;
  }
  return undefined;
}

interface Lowest {
  readonly targets: readonly Target[];
  /** Of each target, in the same order. */
  readonly loads: readonly Load[];
  readonly measure: (load: Load, target: Target) => number;
  readonly random: Random;
}

function pickAny(targets: readonly Target[], random: Random): Target | undefined {
  return targets[Math.floor(randomFraction(random) * targets.length)];
}
