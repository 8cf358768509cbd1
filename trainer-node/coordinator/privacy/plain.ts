import { ownOf } from "../../../common/strategies/shared/own-strategy.ts";
import { computingNeed } from "../../../common/training/federation-needs.ts";
import { sortedUpdates } from "../../../common/training/round-record.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import { appliedStrategy, asFailure, isPlainMean, recordStart, stepFrom, type WeightedUpdate, weightUpdates } from "../round-strategy.ts";
import { collectUpdates } from "../updates/collect-updates.ts";
import { layoutOfBlob } from "../updates/inspect-blob.ts";
import { OPAQUE, UNSUPPORTED } from "../updates/inspect-update.ts";
import { delegate } from "./delegate.ts";
import type { PrivacyMode } from "./privacy-mode.ts";

/** The coordinator reads every update and adds no noise. */
export const plain: PrivacyMode = {
  reach: async ({ deps }, participant, signal) => {
    await deps.participants.reach(participant, signal);
  },
  collect: collectUpdates,
  combine: async (run, round, accepted) => {
    const { deps, federation } = run;
    const { headBlob: base, headStateBlob: state } = federation;
    const updates = sortedUpdates(weightUpdates(accepted, "samples"));
    const common = { ...recordStart(federation, round), updates: updates.map(({ hash, weight }) => ({ hash, weight })) };
    if (await refuseOpaque(run, round, updates)) {
      const { result, voters } = await delegate(run, accepted, updates);
      return {
        record: { ...common, strategy: { name: "delegated", voters }, result, made: "delegated" },
        stateBlob: "",
        figures: new Map(),
      };
    }
    const strategy = appliedStrategy(run, updates, round);
    const stored = await deps.aggregation
      .store({ updates, strategy, base, state, own: ownOf(run.settings.strategy) }, run.signal)
      .catch((thrown: unknown) => {
        throw asFailure(thrown, round);
      });
    const record = { ...common, strategy, result: stored.parameters, made: "aggregated" as const };
    return { record, stateBlob: stored.state ?? "", figures: stored.clients };
  },
  combineSum: async (run, round, { updates, mean, secure }) => {
    const strategy = appliedStrategy(run, [], round);
    const { result, stateBlob } = await stepFrom(run, { mean, strategy });
    const recorded = { ...(isPlainMean(strategy) ? { name: "mean" } : strategy), secure };
    const record = { ...recordStart(run.federation, round), updates, strategy: recorded, result, made: "unmasked" as const };
    return { record, stateBlob, figures: new Map() };
  },
  finish: async () => {},
};

/**
 * Whether the updates are opaque, so that a participant has to aggregate them. Opaque updates that the settings need to compute with are
 * refused when they arrive; one that an earlier version accepted fails the federation here.
 */
export async function refuseOpaque({ deps, settings }: FederationRun, round: number, updates: readonly WeightedUpdate[]): Promise<boolean> {
  const [first] = updates;
  if (!first) throw new Error("a round needs at least one update");
  if ((await layoutOfBlob(deps.blobs, first.hash)) !== OPAQUE) return false;
  const need = computingNeed(settings);
  if (need === undefined) return true;
  const text = `Round ${round} has parameters that the coordinator cannot read, and ${need} has to compute with them; send safetensors, npz or npy.`;
  throw new FederationFailed(UNSUPPORTED, text);
}
