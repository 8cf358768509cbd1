import { sortedUpdates } from "../../../common/training/round-record.ts";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { addNoise } from "../../compute/add-noise.ts";
import { isFloat } from "../../compute/tensor.ts";
import { keyedRandom } from "../../operations/keyed-random.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import { appliedStrategy, asFailure, isPlainMean, recordStart, stepFrom, weightUpdates } from "../round-strategy.ts";
import { UNSUPPORTED } from "../updates/inspect-update.ts";
import { plain, refuseOpaque } from "./plain.ts";
import type { PrivacyMode } from "./privacy-mode.ts";

/** The coordinator clips the updates and adds noise to their mean. The strategy steps from the noised mean, so its state is noised, too. */
export const central: PrivacyMode = {
  ...plain,
  combine: async (run, round, accepted) => {
    const { deps, federation, signal } = run;
    const updates = sortedUpdates(weightUpdates(accepted, "equal"));
    await refuseOpaque(run, round, updates);
    const strategy = appliedStrategy(run, updates, round);
    const clip = { name: "norm_clip", clip_norm: noiseOf(run).clipNorm };
    const refused = (thrown: unknown): never => {
      throw asFailure(thrown, round);
    };
    const mean = await deps.aggregation.run({ updates, strategy: clip, base: federation.headBlob, state: "" }, signal).catch(refused);
    const { result, stateBlob } = await stepFrom(run, { mean: withNoise(run, mean.parameters, updates.length), strategy }).catch(refused);
    const record = {
      ...recordStart(federation, round),
      updates: updates.map(({ hash, weight }) => ({ hash, weight })),
      strategy: isPlainMean(strategy) ? clip : { ...strategy, clip_norm: clip.clip_norm },
      result,
      made: "noised" as const,
    };
    return { record, stateBlob, figures: mean.clients };
  },
  combineSum: async (run, round, { updates, mean, secure }) => {
    const strategy = appliedStrategy(run, [], round);
    const { result, stateBlob } = await stepFrom(run, { mean: withNoise(run, mean, updates.length), strategy });
    const recorded = isPlainMean(strategy) ? { name: "mean", secure } : { ...strategy, secure, clip_norm: noiseOf(run).clipNorm };
    const record = { ...recordStart(run.federation, round), updates, strategy: recorded, result, made: "noised" as const };
    return { record, stateBlob, figures: new Map() };
  },
};

function noiseOf({ settings: { dp } }: FederationRun): NonNullable<FederationRun["settings"]["dp"]> {
  if (!dp) throw new Error("noise requires the dp settings");
  return dp;
}

function withNoise(run: FederationRun, mean: Uint8Array, clients: number): Uint8Array {
  const { noiseMultiplier, clipNorm } = noiseOf(run);
  const { format, tensors } = decodeParameters(mean);
  const integers = tensors.find((tensor) => !isFloat(tensor));
  if (integers)
    throw new FederationFailed(
      UNSUPPORTED,
      `The tensor "${integers.name}" does not have float elements, and noise applies to floats only.`,
    );
  const deviation = (noiseMultiplier * clipNorm) / clients;
  // The key is not stored, because with it the noise could be removed again.
  return encodeParameters(addNoise(tensors, deviation, keyedRandom(run.deps.random.bytes(32))), format);
}
