import { ownOf, sourceHash } from "../../common/strategies/shared/own-strategy.ts";
import { strategyNamed } from "../../common/strategies/shared/registry.ts";
import type { RoundUpdate } from "../../common/strategies/shared/strategy.ts";
import { sampleWeights } from "../../common/training/metrics.ts";
import { type PrivacyRules, privacyRules } from "../../common/training/privacy-rules.ts";
import { rootOf } from "../../common/training/root-settings.ts";
import { NO_RECORD } from "../../common/training/round-record.ts";
import type { UntrainedStart } from "../../common/training/untrained-start.ts";
import type { Federation, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../errors.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";

/** An accepted update with its weight. */
export type WeightedUpdate = RoundUpdate & { readonly hash: string };

/** Weights updates by their samples, or all the same. */
export function weightUpdates(accepted: readonly RoundParticipant[], weights: PrivacyRules["weights"]): WeightedUpdate[] {
  const counted = sampleWeights(accepted);
  return accepted.map(({ participantId: id, updateBlob: hash, baseRound, metrics }, index) => {
    const samples = counted[index] ?? 1;
    return { id, hash, baseRound, metrics, samples, weight: weights === "samples" ? samples : 1 };
  });
}

/** The strategy as this round runs it. The round's record has it, so that the round can be made again. */
export function appliedStrategy(
  { settings, federation }: Pick<FederationRun, "settings" | "federation">,
  updates: readonly WeightedUpdate[],
  round: number,
): Record<string, unknown> {
  const [problem] = privacyRules(settings).problems(settings);
  if (problem) throw new FederationFailed("VALIDATION_ERROR", problem.message);
  const own = ownOf(settings.strategy);
  if (own) {
    const { own: _own, ...given } = settings.strategy;
    return { ...given, language: own.language, source: sourceHash(own.source), round };
  }
  const { aggregatedBy, base, fill, settings: table } = strategyNamed(settings.strategy.name);
  // A first round has nothing to step from.
  if (aggregatedBy !== undefined || (federation.headBlob === "" && base === "required")) return { name: aggregatedBy ?? "mean" };
  const isAggregated = ([setting]: [string, unknown]): boolean => table[setting]?.only !== "federation";
  return {
    ...Object.fromEntries(Object.entries(settings.strategy).filter(isAggregated)),
    ...fill?.({
      ...{ round, given: settings.strategy, config: settings.task.config, updates },
      ...{ participants: federation.participants.length, root: rootOf(settings.strategy) },
    }),
  };
}

/** Whether the strategy is the mean itself, with no step of the server from it. */
export const isPlainMean = ({ name }: Readonly<Record<string, unknown>>): boolean => strategyNamed(String(name)).base === "unused";

/** What a strategy makes of the mean as the round's only update. */
export async function stepFrom(
  { deps, federation, signal }: FederationRun,
  { mean, strategy }: { mean: Uint8Array; strategy: Readonly<Record<string, unknown>> },
): Promise<{ result: string; stateBlob: string }> {
  const { sha256: hash } = await deps.blobs.keepBytes(mean);
  if (isPlainMean(strategy)) return { result: hash, stateBlob: "" };
  const input = { updates: [{ hash, weight: 1, id: "mean" }], strategy, base: federation.headBlob, state: federation.headStateBlob };
  const { parameters, state } = await deps.aggregation.store(input, signal);
  return { result: parameters, stateBlob: state ?? "" };
}

/** The fields that every record of the federation's next round begins with. */
export function recordStart(federation: Federation, round: number) {
  const { id, headBlob, headStateBlob, headRecordHash, headRound, extendedAt, outer, initialStart } = federation;
  // Of the rounds that train for an outer round, the first begins with the outer parameters.
  const isFromOuter = outer !== undefined && outer.round > 0 && headRound === extendedAt;
  return {
    ...(isFromOuter ? { outer: { federationId: outer.federationId, round: outer.round } } : {}),
    federationId: id,
    round,
    previous: headRecordHash === "" ? NO_RECORD : headRecordHash,
    base: headBlob === "" ? null : headBlob,
    ...(round === 1 && !isFromOuter && initialStart !== "" ? { start: JSON.parse(initialStart) as UntrainedStart } : {}),
    state: headStateBlob === "" ? null : headStateBlob,
  };
}

/** Refusals of a strategy are final: a setting it does not have, more attackers to bear than there are participants. */
export function asFailure(thrown: unknown, round: number): unknown {
  const isRefusal = thrown instanceof TrainerError && thrown.status >= 400 && thrown.status < 500;
  return isRefusal ? new FederationFailed("AGGREGATION_FAILED", `Round ${round} cannot be aggregated: ${thrown.message}`) : thrown;
}
