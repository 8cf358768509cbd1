import { createHmac } from "node:crypto";
import { canonicalJson } from "../../../common/json.ts";
import { strategyNamed } from "../../../common/strategies/shared/registry.ts";
import { type RecordedUpdate, sortedUpdates } from "../../../common/training/round-record.ts";
import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { addNoise } from "../../compute/add-noise.ts";
import { isFloat } from "../../compute/tensor.ts";
import { keyedRandom } from "../../operations/keyed-random.ts";
import type { ClientFigures } from "../aggregation.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import { appliedStrategy, asFailure, isPlainMean, recordStart, stepFrom, type WeightedUpdate, weightUpdates } from "../round-strategy.ts";
import { samplingOf } from "../select.ts";
import { UNSUPPORTED } from "../updates/inspect-update.ts";
import { rebaseUpdate } from "../updates/rebase.ts";
import { plain, refuseOpaque } from "./plain.ts";
import type { PrivacyMode } from "./privacy-mode.ts";

type Strategy = Readonly<Record<string, unknown>>;

/** A round's result with noise. */
interface NoisedResult {
  readonly result: string;
  readonly stateBlob: string;
  readonly deviation: number;
  readonly divisor?: number;
  readonly figures: ReadonlyMap<string, ClientFigures>;
}

/** The coordinator clips the updates against the round's base, and adds noise around the chosen strategy. */
export const central: PrivacyMode = {
  ...plain,
  combine: async (run, round, accepted) => {
    const updates = sortedUpdates(weightUpdates(accepted, "equal"));
    await refuseOpaque(run, round, updates);
    const strategy = appliedStrategy(run, updates, round);
    const isSum = strategyNamed(String(strategy["name"])).sees === "sum";
    const noised = await (isSum ? noisedMean : noisedStep)(run, updates, strategy).catch((thrown: unknown) => {
      throw asFailure(thrown, round);
    });
    const record = {
      ...recordStart(run.federation, round),
      updates: updates.map(({ hash, weight }) => ({ hash, weight })),
      strategy: { ...(isPlainMean(strategy) && isSum ? clipOf(run) : strategy), ...recorded(run, noised.deviation) },
      result: noised.result,
      made: "noised" as const,
    };
    return { record, stateBlob: noised.stateBlob, divisor: noised.divisor, figures: noised.figures };
  },
  combineSum: async (run, round, { updates, mean, secure }) => {
    const strategy = appliedStrategy(run, [], round);
    const deviation = deviationOf(run, "mean", updates.length);
    const { result, stateBlob } = await stepFrom(run, {
      mean: withNoise(mean, drawOf(run, { what: "mean", deviation, strategy, updates })),
      strategy,
    });
    const shown = isPlainMean(strategy) ? { name: "mean", secure } : { ...strategy, secure };
    const record = {
      ...recordStart(run.federation, round),
      updates,
      strategy: { ...shown, ...recorded(run, deviation) },
      result,
      made: "noised" as const,
    };
    return { record, stateBlob, figures: new Map() };
  },
};

/**
 * Noise on the mean of the clipped updates. The strategy steps from the noised mean, so its state is noised, too. If participants are
 * sampled, their sum is divided by their expected number: the actual one would tell something of who took part.
 */
async function noisedMean(run: FederationRun, updates: readonly WeightedUpdate[], strategy: Strategy): Promise<NoisedResult> {
  const { deps, federation, signal } = run;
  const { headBlob: base } = federation;
  const sampling = samplingOf(run);
  const clients = sampling ? sampling.share * sampling.participants : updates.length;
  const deviation = deviationOf(run, "mean", clients);
  const { parameters, clients: figures } = await deps.aggregation.run({ updates, strategy: clipOf(run), base, state: "" }, signal);
  const head = sampling && base !== "" ? await deps.blobs.read(base) : undefined;
  const mean = sampling ? rebaseUpdate({ update: parameters, base: head, head, factor: updates.length / clients }) : parameters;
  const stepped = await stepFrom(run, { mean: withNoise(mean, drawOf(run, { what: "mean", deviation, strategy, updates })), strategy });
  return { ...stepped, deviation, divisor: clients, figures };
}

/**
 * Noise on what a strategy makes of every single clipped update, such as the one that krum keeps. Its step is clipped, too, and no more is
 * known of it: one update can move it from anywhere to anywhere within the clip norm, however many updates there are.
 */
async function noisedStep(run: FederationRun, updates: readonly WeightedUpdate[], strategy: Strategy): Promise<NoisedResult> {
  const { deps, federation, signal } = run;
  const { headBlob: base, headStateBlob: state } = federation;
  const clipped: WeightedUpdate[] = [];
  for (const update of updates) clipped.push({ ...update, hash: await clipBlob(run, update.hash) });
  const made = await deps.aggregation.store({ updates: clipped, strategy, base, state }, signal);
  const step = await deps.blobs.read(await clipBlob(run, made.parameters));
  const deviation = deviationOf(run, "step", updates.length);
  const { sha256: result } = await deps.blobs.keepBytes(withNoise(step, drawOf(run, { what: "step", deviation, strategy, updates })));
  return { result, stateBlob: made.state ?? "", deviation, figures: made.clients };
}

/** One update, clipped against the round's base, as a blob. */
async function clipBlob(run: FederationRun, hash: string): Promise<string> {
  const { deps, federation, signal } = run;
  const input = { updates: [{ hash, weight: 1, id: "clipped" }], strategy: clipOf(run), base: federation.headBlob, state: "" };
  return (await deps.aggregation.store(input, signal)).parameters;
}

const clipOf = (run: FederationRun) => ({ name: "norm_clip", clip_norm: noiseOf(run).clipNorm });

const recorded = (run: FederationRun, deviation: number) => ({ clip_norm: noiseOf(run).clipNorm, noise_deviation: deviation });

function noiseOf({ settings: { dp } }: FederationRun): NonNullable<FederationRun["settings"]["dp"]> {
  if (!dp) throw new Error("noise requires the dp settings");
  return dp;
}

/** The noise multiplier times how far one participant's update can move the result: its part of a mean, or the width of the clip norm's ball. */
function deviationOf(run: FederationRun, what: "mean" | "step", clients: number): number {
  const { noiseMultiplier, clipNorm } = noiseOf(run);
  return noiseMultiplier * (what === "mean" ? clipNorm / clients : 2 * clipNorm);
}

interface Draw {
  readonly what: "mean" | "step";
  readonly deviation: number;
  readonly strategy: Strategy;
  readonly updates: readonly RecordedUpdate[];
}

/**
 * The noise of one result. A round that is made again of the same updates, after a pause or a crash, gets the same noise: several copies with
 * noise of their own would tell more of the updates than one, and epsilon counts one. Anything that differs gives other noise, because the
 * difference of two results with the same noise has none.
 */
function drawOf(run: FederationRun, { what, deviation, strategy, updates }: Draw): Noise {
  const { noiseKey, headRound, headBlob: base, headStateBlob: state } = run.federation;
  // From a control plane of an earlier version.
  if (noiseKey.byteLength === 0) return { deviation, key: run.deps.random.bytes(32) };
  const made = sortedUpdates(updates).map(({ hash, weight }) => [hash, weight]);
  const drawn = { round: headRound + 1, base, state, what, deviation, clip: noiseOf(run).clipNorm, strategy, updates: made };
  return { deviation, key: createHmac("sha256", noiseKey).update(canonicalJson(drawn)).digest() };
}

interface Noise {
  readonly deviation: number;
  /** Is not stored, because with it the noise could be removed again. */
  readonly key: Uint8Array;
}

function withNoise(parameters: Uint8Array, { deviation, key }: Noise): Uint8Array {
  const { format, tensors } = decodeParameters(parameters);
  const integers = tensors.find((tensor) => !isFloat(tensor));
  if (integers)
    throw new FederationFailed(
      UNSUPPORTED,
      `The tensor "${integers.name}" does not have float elements, and noise applies to floats only.`,
    );
  return encodeParameters(addNoise(tensors, deviation, keyedRandom(key)), format);
}
