import type { FederationSettings } from "../../common/federation-settings.ts";
import { NO_RECORD, type RoundRecord, sortedUpdates } from "../../common/round-record.ts";
import type { Federation, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { addNoise } from "../compute/add-noise.ts";
import { findAggregator } from "../compute/aggregators/registry.ts";
import { TrainerError } from "../errors.ts";
import { keyedRandom } from "../operations/keyed-random.ts";
import type { AggregationResult, ClientFigures } from "./aggregation.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";
import { layoutOfBlob } from "./inspect-blob.ts";
import { OPAQUE } from "./inspect-update.ts";
import { combineMasked } from "./secure/combine-masked.ts";

export interface CombinedRound {
  readonly record: RoundRecord;
  /** What the strategy carries to the next round; "" for nothing. */
  readonly stateBlob: string;
  /** By participant. */
  readonly figures: ReadonlyMap<string, ClientFigures>;
}

type Weighed = { hash: string; weight: number; id: string; baseRound: number };

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
  const combined = await deps.aggregation.run(input, run.signal).catch(refused);
  const { made, parameters } = withNoise(run, combined, updates.length);
  const { sha256: result } = await deps.blobs.keepBytes(parameters);
  const stateBlob = combined.state ? (await deps.blobs.keepBytes(combined.state)).sha256 : "";
  return { record: { ...common, strategy, result, made }, stateBlob, figures: combined.clients };
}

/** The same of updates that nobody can read, of which the sum comes out. */
async function combineHidden(run: FederationRun, round: number, accepted: readonly RoundParticipant[]): Promise<CombinedRound> {
  const { deps, settings, federation } = run;
  const { updates, strategy, ...unmasked } = await combineMasked(run, round, accepted);
  const combined = { ...unmasked, clients: new Map() };
  const { made, parameters } =
    settings.dp?.mode === "central" ? withNoise(run, combined, updates.length) : { ...combined, made: "unmasked" as const };
  const { sha256: result } = await deps.blobs.keepBytes(parameters);
  const stateBlob = combined.state ? (await deps.blobs.keepBytes(combined.state)).sha256 : "";
  return { record: { ...beginningOf(federation, round), updates, strategy, result, made }, stateBlob, figures: combined.clients };
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

/** By samples where everybody said how many, else all alike: nobody's silence shall make him small or large. */
export function weigh(accepted: readonly RoundParticipant[], isPrivate: boolean): Weighed[] {
  const areCounted = !isPrivate && accepted.every(({ samples }) => samples !== undefined && samples > 0n);
  return accepted.map(({ participantId: id, updateBlob: hash, samples, baseRound }) => ({
    id,
    hash,
    baseRound,
    weight: areCounted ? Number(samples) : 1,
  }));
}

/** The strategy as this round runs it. It is in the record, so that whoever makes the round again makes the same. */
export function appliedStrategy(
  { settings, federation }: Pick<FederationRun, "settings" | "federation">,
  updates: readonly Weighed[],
  round: number,
): Record<string, unknown> {
  const { dp } = settings;
  // Only the mean of bounded updates has a known sensitivity.
  if (dp?.mode === "central") return { name: "norm_clip", clip_norm: dp.clipNorm };
  const { name, mu: _proximal, buffer: _buffer, ...rest } = settings.strategy;
  // A first round has nothing to step from.
  if (federation.headBlob === "" && findAggregator(name)?.base !== "unused" && name !== "norm_clip") return { name: "mean" };
  // Each was put on today's parameters when it was accepted, by how stale it was.
  if (name === "fedbuff") return { name: "mean" };
  if (name === "fednova") return { name, steps: localSteps(settings.task.config, updates) };
  if (name !== "fedasync") return { name, ...rest };
  return { ...rest, name, staleness: updates.map(({ baseRound }) => round - 1 - baseRound) };
}

/** How many steps each of them took; where nobody knows how much data they have, all took the same. */
function localSteps({ epochs = 1, batch_size: batch = 10 }: FederationSettings["task"]["config"], updates: readonly Weighed[]): number[] {
  return updates.map(({ weight }) => Number(epochs) * Math.ceil(weight / Number(batch)));
}

function withNoise(
  { deps, settings }: FederationRun,
  combined: AggregationResult,
  clients: number,
): { parameters: Uint8Array; made: "noised" } {
  const { dp } = settings;
  if (!dp) throw new Error("noise needs the settings of privacy");
  const { format, tensors } = decodeParameters(combined.parameters);
  const deviation = (dp.noiseMultiplier * dp.clipNorm) / clients;
  // Nobody keeps the key: whoever has it can take the noise away again.
  return { parameters: encodeParameters(addNoise(tensors, deviation, keyedRandom(deps.random.bytes(32))), format), made: "noised" };
}

/** Parameters that only participants can read are combined by one of them, whoever does it first. */
async function delegate(run: FederationRun, accepted: readonly RoundParticipant[], updates: readonly Weighed[]): Promise<string> {
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
