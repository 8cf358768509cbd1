import { strategyNamed } from "../../../common/strategies/shared/registry.ts";
import { readMetrics } from "../../../common/training/metrics.ts";
import { rootOf } from "../../../common/training/root-settings.ts";
import type { Participant, Round, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../../errors.ts";
import type { FederationRun } from "../deps.ts";
import { askInTurn } from "../participants/ask-in-turn.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import type { ParticipantTask, TrainedUpdate } from "../participants/participants.ts";
import { requireCapabilities } from "../participants/require-capabilities.ts";
import { trainTask } from "../train-task.ts";
import { requireControls } from "./fitting-controls.ts";
import { inspectBlob } from "./inspect-blob.ts";
import { type Layout, requireMetrics, requireReadable, requireSamples } from "./inspect-update.ts";
import { createProgressReports } from "./report-progress.ts";
import { openRoundLayouts, type RoundLayouts } from "./round-layouts.ts";
import { updateOrigin } from "./update-origin.ts";

/** What a round still collects. */
export interface Collection {
  readonly round: number;
  /** Participants of the round without a stored update. */
  readonly missing: readonly Participant[];
  readonly accepted: readonly RoundParticipant[];
  /** Number of results that ends the collection. */
  readonly wanted: number;
  /** Number of results that suffice at the deadline. */
  readonly quorum: number;
}

const ATTEMPTS_AFTER_QUORUM = 3;

/**
 * Asks all missing participants concurrently until enough or all have answered, or the deadline passes. Every update is on disk and
 * recorded in the control plane before it counts; failures are recorded, too. An unreachable or busy participant is asked again while there
 * is time and its update is needed. Returns the latest state of the round.
 */
export async function collectUpdates(run: FederationRun, collection: Collection): Promise<Round | undefined> {
  const { deps, control, settings, signal } = run;
  const { round: number, wanted, quorum } = collection;
  const closed = new AbortController();
  const stopAt = deps.clock.after(settings.deadlineMs, () => closed.abort());
  const inTime = AbortSignal.any([signal, closed.signal]);
  const root = rootOf(settings.strategy);
  let hasRoot = root === undefined || collection.accepted.some(({ participantId }) => participantId === root);
  const layouts = await openRoundLayouts(run, number, collection.accepted);
  const isComplete = (): boolean => layouts.count() >= wanted && hasRoot;
  let latest: Round | undefined;
  const progress = createProgressReports(run, number);
  try {
    if (isComplete()) return await layouts.takeBackMisfits();
    await askInTurn<FittingUpdate>(run, collection.missing, {
      inTime,
      ask: async (participant) => {
        const task = { ...trainTask(run, participant, number), onProgress: progress.of(participant.id) };
        await requireCapabilities(run, participant, inTime);
        const update = await trained(run, participant, task, inTime);
        return requireFitting(run, update, layouts);
      },
      isOver: (_participant, _problem, tries) => tries >= ATTEMPTS_AFTER_QUORUM && layouts.count() >= quorum && hasRoot,
      settle: async (participant, result, durationMs) => {
        const state = result instanceof ParticipantProblem ? (inTime.aborted ? "straggler" : "failed") : "accepted";
        const recorded = resultOf(run, participant, { result, state, durationMs, baseRound: number - 1 });
        latest = await control.recordResult(number, recorded);
        if (!(result instanceof ParticipantProblem)) {
          layouts.add(recorded, result.layout);
          hasRoot ||= participant.id === root;
        }
        if (isComplete()) closed.abort();
      },
    });
    return (await layouts.takeBackMisfits()) ?? latest;
  } finally {
    stopAt();
    closed.abort();
    await progress.stop();
  }
}

/** One training of a participant, with what its strategy sends and needs beside the parameters. */
async function trained(run: FederationRun, participant: Participant, task: ParticipantTask, signal: AbortSignal): Promise<TrainedUpdate> {
  const { deps, settings, controls } = run;
  const train = (parameters: string) => deps.participants.train(participant, { ...task, parameters }, signal);
  const update = await (controls ? controls.withParameters(task.parameters, participant, train) : train(task.parameters));
  requireSamples(update.samples, settings, participant);
  requireMetrics(update.metrics, settings);
  return expanded(run, participant, update, signal);
}

/** The update as it is aggregated. `bytes` stays what the participant sent. */
async function expanded(
  { deps, settings, federation }: FederationRun,
  { tenantId }: Participant,
  update: TrainedUpdate,
  signal: AbortSignal,
): Promise<TrainedUpdate> {
  const { headBlob: base } = federation;
  const { compression } = settings;
  if (!compression || base === "") return update;
  try {
    const { sha256 } = await deps.aggregation.expand({ base, update: update.blob, method: compression.method }, signal);
    await deps.blobs.of(tenantId, updateOrigin(settings)).made(sha256);
    // Nothing refers to the compressed bytes: they are swept, and count for no organization until then.
    if (sha256 !== update.blob) deps.blobs.owners.forget(update.blob);
    return { ...update, blob: sha256, layout: undefined };
  } catch (thrown) {
    if (!(thrown instanceof TrainerError)) throw thrown;
    throw new ParticipantProblem(`COMPRESSION: ${thrown.message}`, { again: false, cause: thrown });
  }
}

/** An update whose layout is known. */
type FittingUpdate = TrainedUpdate & { readonly layout: Layout };

/** The inspected update. Whether it fits the others of a round without a base is decided when the round closes. */
async function requireFitting({ deps, settings }: FederationRun, update: TrainedUpdate, layouts: RoundLayouts): Promise<FittingUpdate> {
  const layout = update.layout ?? (await inspectBlob(deps.blobs, update.blob));
  requireReadable(layout, settings);
  requireControls(layout, settings);
  layouts.require(layout);
  return { ...update, layout };
}

/** A participant's outcome as the control plane records it. */
export function resultOf(
  { federation, settings }: Pick<FederationRun, "federation" | "settings">,
  participant: Participant,
  given: { result: TrainedUpdate | ParticipantProblem; state: string; durationMs: number; baseRound: number },
): RoundParticipant {
  const { result, state, durationMs, baseRound } = given;
  const isUpdate = !(result instanceof ParticipantProblem);
  // Exact numbers of the training data would reveal what central noise and masks hide. Under local noise, participants leave them out.
  const hasMetrics = isUpdate && settings.dp?.mode !== "central" && settings.secureAggregation === undefined;
  return {
    participantId: participant.id,
    state,
    updateBlob: isUpdate ? result.blob : "",
    samples: isUpdate && result.samples !== undefined ? BigInt(result.samples) : undefined,
    bytes: BigInt(isUpdate ? result.bytes : 0),
    durationMs: BigInt(Math.round(durationMs)),
    reason: isUpdate ? "" : result.message,
    norm: undefined,
    cosine: undefined,
    kept: undefined,
    contribution: 0,
    rewardNanoUsd: 0n,
    baseRound,
    metrics: hasMetrics ? { ...readMetrics(neededFirst(result.metrics, settings), federation.participants.length) } : {},
  };
}

/** Participants of a large round have room for a few metrics, so those that the strategy needs come first. */
function neededFirst(metrics: TrainedUpdate["metrics"], { strategy }: Pick<FederationRun["settings"], "strategy">): object {
  const needed = strategyNamed(strategy.name).metrics ?? [];
  return { ...Object.fromEntries(needed.map((name) => [name, metrics?.[name]])), ...metrics };
}
