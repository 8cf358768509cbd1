import { computingNeed } from "../../common/federation-needs.ts";
import type { FederationSettings } from "../../common/federation-settings.ts";
import { NO_RECORD, type RoundRecord, sortedUpdates } from "../../common/round-record.ts";
import { strategyNamed } from "../../common/strategies/shared/registry.ts";
import type { Federation, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { addNoise } from "../compute/add-noise.ts";
import { isFloat } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { keyedRandom } from "../operations/keyed-random.ts";
import type { ClientFigures } from "./aggregation.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";
import { appliedStrategy, type WeighedUpdate, weigh } from "./round-strategy.ts";
import { combineMasked } from "./secure/combine-masked.ts";
import { layoutOfBlob } from "./updates/inspect-blob.ts";
import { OPAQUE, UNSUPPORTED } from "./updates/inspect-update.ts";

export interface CombinedRound {
  readonly record: RoundRecord;
  /** What the strategy carries to the next round; "" for nothing. */
  readonly stateBlob: string;
  /** By participant. */
  readonly figures: ReadonlyMap<string, ClientFigures>;
}

/** The round's result out of its stored updates: the same updates give the same bytes, whoever combines them and how often. */
export async function combineRound(run: FederationRun, round: number, accepted: readonly RoundParticipant[]): Promise<CombinedRound> {
  const { deps, federation, settings } = run;
  const { headBlob: base, headStateBlob: state } = federation;
  if (settings.secureAggregation) return combineHidden(run, round, accepted);
  const updates = sortedUpdates(weigh(accepted, settings.dp?.mode === "central"));
  const [first] = updates;
  if (!first) throw new Error("a round is combined of at least one update");
  const common = { ...beginningOf(federation, round), updates: updates.map(({ hash, weight }) => ({ hash, weight })) };
  if ((await layoutOfBlob(deps.blobs, first.hash)) === OPAQUE) {
    refuseDelegating(settings, round);
    const result = await delegate(run, accepted, updates);
    return { record: { ...common, strategy: { name: "delegated" }, result, made: "delegated" }, stateBlob: "", figures: new Map() };
  }
  const strategy = appliedStrategy(run, updates, round);
  const input = { updates, strategy, base, state };
  const refused = (thrown: unknown): never => {
    throw asFailure(thrown, round);
  };
  if (settings.dp?.mode !== "central") {
    const stored = await deps.aggregation.store(input, run.signal).catch(refused);
    const record = { ...common, strategy, result: stored.parameters, made: "aggregated" as const };
    return { record, stateBlob: stored.state ?? "", figures: stored.clients };
  }
  const clip = { name: "norm_clip", clip_norm: settings.dp.clipNorm };
  const mean = await deps.aggregation.run({ ...input, strategy: clip, state: "" }, run.signal).catch(refused);
  const stepped = await stepFrom(run, { mean: withNoise(run, mean.parameters, updates.length), strategy }).catch(refused);
  const recorded = isPlainMean(strategy) ? clip : { ...strategy, clip_norm: clip.clip_norm };
  const record = { ...common, strategy: recorded, result: stepped.result, made: "noised" as const };
  return { record, stateBlob: stepped.stateBlob, figures: mean.clients };
}

/** The same of updates that nobody can read, of which the sum comes out. */
async function combineHidden(run: FederationRun, round: number, accepted: readonly RoundParticipant[]): Promise<CombinedRound> {
  const { deps, settings, federation } = run;
  const { updates, strategy, parameters, state } = await combineMasked(run, round, accepted);
  const common = { ...beginningOf(federation, round), updates };
  const figures = new Map();
  if (settings.dp?.mode === "central") {
    const applied = appliedStrategy(run, [], round);
    const { result, stateBlob } = await stepFrom(run, { mean: withNoise(run, parameters, updates.length), strategy: applied });
    const recorded = isPlainMean(applied) ? strategy : { ...strategy, ...applied, clip_norm: settings.dp.clipNorm };
    return { record: { ...common, strategy: recorded, result, made: "noised" }, stateBlob, figures };
  }
  const { sha256: result } = await deps.blobs.keepBytes(parameters);
  const stateBlob = state ? (await deps.blobs.keepBytes(state)).sha256 : "";
  return { record: { ...common, strategy, result, made: "unmasked" }, stateBlob, figures };
}

/** Opaque updates are refused when they arrive; one that was accepted by an earlier version ends here. */
function refuseDelegating(settings: FederationSettings, round: number): void {
  const need = computingNeed(settings);
  if (need === undefined) return;
  const text = `Round ${round} has parameters that the coordinator cannot read, and ${need} has to compute with them; send safetensors, npz or npy.`;
  throw new FederationFailed(UNSUPPORTED, text);
}

/** Whether the strategy is the mean itself, with no step of the server from it. */
const isPlainMean = ({ name }: Readonly<Record<string, unknown>>): boolean => strategyNamed(String(name)).base === "unused";

/** What a strategy makes of the noised mean as the round's only update: whatever it carries over is made of noised numbers too. */
async function stepFrom(
  { deps, federation, signal }: FederationRun,
  { mean, strategy }: { mean: Uint8Array; strategy: Readonly<Record<string, unknown>> },
): Promise<{ result: string; stateBlob: string }> {
  const { sha256: hash } = await deps.blobs.keepBytes(mean);
  if (isPlainMean(strategy)) return { result: hash, stateBlob: "" };
  const input = { updates: [{ hash, weight: 1, id: "mean" }], strategy, base: federation.headBlob, state: federation.headStateBlob };
  const { parameters, state } = await deps.aggregation.store(input, signal);
  return { result: parameters, stateBlob: state ?? "" };
}

/** Of every record. */
function beginningOf({ id, headBlob, headStateBlob, headRecordHash }: Federation, round: number) {
  return {
    federationId: id,
    round,
    previous: headRecordHash === "" ? NO_RECORD : headRecordHash,
    base: headBlob === "" ? null : headBlob,
    state: headStateBlob === "" ? null : headStateBlob,
  };
}

/** What the strategy refuses it refuses again: a setting it does not have, more attackers to bear than there are participants. */
function asFailure(thrown: unknown, round: number): unknown {
  const isRefusal = thrown instanceof TrainerError && thrown.status >= 400 && thrown.status < 500;
  return isRefusal ? new FederationFailed("AGGREGATION_FAILED", `Round ${round} cannot be combined: ${thrown.message}`) : thrown;
}

function withNoise({ deps, settings }: FederationRun, mean: Uint8Array, clients: number): Uint8Array {
  const { dp } = settings;
  if (!dp) throw new Error("noise needs the settings of privacy");
  const { format, tensors } = decodeParameters(mean);
  const integers = tensors.find((tensor) => !isFloat(tensor));
  if (integers) throw new FederationFailed(UNSUPPORTED, `The tensor "${integers.name}" is not of floats, and noise covers floats alone.`);
  const deviation = (dp.noiseMultiplier * dp.clipNorm) / clients;
  // Nobody keeps the key: whoever has it can take the noise away again.
  return encodeParameters(addNoise(tensors, deviation, keyedRandom(deps.random.bytes(32))), format);
}

/** Parameters that only participants can read are combined by one of them, whoever does it first. */
async function delegate(run: FederationRun, accepted: readonly RoundParticipant[], updates: readonly WeighedUpdate[]): Promise<string> {
  const { deps, members, signal } = run;
  const problems: string[] = [];
  const hashes = updates.map(({ hash }) => hash);
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(run.settings.deadlineMs)]);
  for (const { participantId } of accepted) {
    const participant = members.find(({ id }) => id === participantId);
    if (!participant) continue;
    try {
      return await deps.participants.aggregate(participant, hashes, inTime);
    } catch (thrown) {
      signal.throwIfAborted();
      problems.push(`${participantId}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
  throw new FederationFailed("AGGREGATION_FAILED", `No participant combined the round's updates: ${problems.join("; ").slice(0, 800)}`);
}
