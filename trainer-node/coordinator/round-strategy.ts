import { privacyProblems } from "../../common/federation-needs.ts";
import { strategyNamed } from "../../common/strategies/shared/registry.ts";
import type { RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";

export type WeighedUpdate = { hash: string; weight: number; id: string; baseRound: number };

/** If any participant omits its sample count, all weigh the same. */
export function weigh(accepted: readonly RoundParticipant[], isPrivate: boolean): WeighedUpdate[] {
  const areCounted = !isPrivate && accepted.every(({ samples }) => samples !== undefined && samples > 0n);
  return accepted.map(({ participantId: id, updateBlob: hash, samples, baseRound }) => ({
    id,
    hash,
    baseRound,
    weight: areCounted ? Number(samples) : 1,
  }));
}

/** The strategy as this round runs it. The round's record has it, so that the round can be made again. */
export function appliedStrategy(
  { settings, federation }: Pick<FederationRun, "settings" | "federation">,
  updates: readonly WeighedUpdate[],
  round: number,
): Record<string, unknown> {
  const [problem] = privacyProblems(settings);
  if (problem) throw new FederationFailed("VALIDATION_ERROR", problem.message);
  const { aggregatedBy, base, fill, settings: table } = strategyNamed(settings.strategy.name);
  // A first round has nothing to step from.
  if (aggregatedBy !== undefined || (federation.headBlob === "" && base === "required")) return { name: aggregatedBy ?? "mean" };
  const isAggregated = ([setting]: [string, unknown]): boolean => table[setting]?.only !== "federation";
  return {
    ...Object.fromEntries(Object.entries(settings.strategy).filter(isAggregated)),
    ...fill?.({ round, config: settings.task.config, updates }),
  };
}
