import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Target } from "./deployment-settings.ts";
import { priceOf, weightOf } from "./strategies.ts";

/** What is known of a list of targets without their health: computed once, because lists are the same until the next table. */
export interface TargetTable {
  /** Those with the lowest `order`. */
  readonly first: readonly Target[];
  readonly byId: ReadonlyMap<string, Target>;
  /** Of `first`: cumulative weights; undefined: none has a weight, and all count the same. */
  readonly weightsUpTo: Float64Array | undefined;
  /** Of `first`: those with the lowest price. */
  readonly cheapest: readonly Target[];
  /** Of `first`: every one has a tpm. */
  readonly haveTokenLimits: boolean;
  /** Some belong to a part of a traffic split: shares are applied before the strategy. */
  readonly isSplit: boolean;
  /** A call within this size fits every target. */
  readonly contextWindowMin: number;
  readonly inputTokensMin: number;
}

const tables = new WeakMap<readonly Target[], TargetTable>();

export function tableOf(targets: readonly Target[]): TargetTable {
  const known = tables.get(targets);
  if (known) return known;
  const table = compile(targets);
  tables.set(targets, table);
  return table;
}

interface AbleCall {
  readonly offer?: string | undefined;
  isAble?(deployment: Deployment): boolean;
}

const able = new WeakMap<readonly Target[], Map<string, readonly Target[]>>();

/** Those that support what a call needs; the list itself if all do. */
export function ableTargets(targets: readonly Target[], call: AbleCall): readonly Target[] {
  if (!call.isAble) return targets;
  if (call.offer === undefined) return filterAble(targets, call);
  const known = able.get(targets)?.get(call.offer);
  if (known) return known;
  const found = filterAble(targets, call);
  able.set(targets, (able.get(targets) ?? new Map<string, readonly Target[]>()).set(call.offer, found));
  return found;
}

function filterAble(targets: readonly Target[], call: AbleCall): readonly Target[] {
  const found = targets.filter(({ deployment }) => call.isAble?.(deployment) !== false);
  return found.length === targets.length ? targets : found;
}

function compile(targets: readonly Target[]): TargetTable {
  const lowest = targets.reduce((least, { settings }) => Math.min(least, settings.order), Number.POSITIVE_INFINITY);
  const first = targets.filter(({ settings }) => settings.order === lowest);
  const price = first.reduce((least, target) => Math.min(least, priceOf(target)), Number.POSITIVE_INFINITY);
  const least = (read: (target: Target) => number | undefined) =>
    targets.reduce((found, target) => Math.min(found, read(target) ?? found), Number.POSITIVE_INFINITY);
  return {
    first,
    byId: new Map(first.map((target) => [target.deployment.id, target])),
    weightsUpTo: weightsUpTo(first),
    cheapest: first.filter((target) => priceOf(target) === price),
    haveTokenLimits: first.every(({ settings }) => (settings.tokensPerMinute ?? 0) > 0),
    isSplit: targets.some(({ settings }) => settings.split !== undefined),
    contextWindowMin: least(({ settings }) => settings.contextWindow),
    inputTokensMin: least(({ settings }) => settings.maxInputTokens),
  };
}

function weightsUpTo(targets: readonly Target[]): Float64Array | undefined {
  const weight = weightOf(targets);
  if (!weight) return undefined;
  let sum = 0;
  return Float64Array.from(targets, (target) => {
    sum += weight(target);
    return sum;
  });
}
