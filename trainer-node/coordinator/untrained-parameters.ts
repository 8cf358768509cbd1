import { pause } from "../../common/clock.ts";
import type { Capability } from "../../common/training/capabilities.ts";
import { NO_UNTRAINED_START, UNTRAINED_METRIC, type UntrainedStart } from "../../common/training/untrained-start.ts";
import type { Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../errors.ts";
import type { UntrainedModel } from "./aggregation.ts";
import type { InitialParameters } from "./control.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";
import { askForParameters } from "./participants/ask-for-parameters.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";
import { withPresentParticipants } from "./participants/present-participants.ts";
import { ownDataset, trainTask } from "./train-task.ts";

const LOOK_MS = { first: 200, max: 5000 };

/**
 * Untrained parameters for round 1. The coordinator makes them itself where participants train a built-in task on a named dataset, because then
 * nothing of anybody's data can be in them; else it asks the first participant that declares `initial`. If none does, the federation fails.
 */
export async function untrainedParameters(given: FederationRun): Promise<InitialParameters> {
  const run = await withPresentParticipants(given);
  const { deps, settings, members, signal } = run;
  const model = members.map((participant) => builtInModel(run, participant)).find((found) => found !== undefined);
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(settings.deadlineMs)]);
  for (let delayMs = LOOK_MS.first; ; delayMs = Math.min(LOOK_MS.max, delayMs * 2)) {
    let isAway = false;
    for (const participant of members) {
      const able = await capabilitiesOf(run, participant);
      isAway ||= able === undefined;
      if (model && able?.has("steps")) return makeHere(run, model);
      if (able?.has("initial")) return askUntrained(run, participant);
    }
    if (!isAway || inTime.aborted) throw new FederationFailed("VALIDATION_ERROR", `${NO_UNTRAINED_START}.`);
    await pause(deps.clock, delayMs, inTime);
    signal.throwIfAborted();
  }
}

/** Undefined if the participant cannot be reached now. */
async function capabilitiesOf({ deps, signal }: FederationRun, participant: Participant): Promise<ReadonlySet<Capability> | undefined> {
  try {
    return await deps.participants.capabilities(participant, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof ParticipantProblem) return undefined;
    throw thrown;
  }
}

/** What the new model of a built-in task is made of, if the participant's dataset is one that every node and coordinator has. */
function builtInModel(run: FederationRun, participant: Participant): UntrainedModel | undefined {
  const { task, seed } = run.settings;
  const dataset = withoutPartition(ownDataset(run, participant));
  return dataset === undefined ? undefined : { config: { task: task.name, seed, ...task.config }, dataset };
}

/** A named or synthetic dataset; a part of it has the same columns and classes, and may have no rows. Undefined for any other dataset. */
function withoutPartition(dataset: unknown): unknown {
  if (typeof dataset === "string") return dataset;
  if (typeof dataset !== "object" || dataset === null || !("name" in dataset || "synthetic" in dataset)) return undefined;
  const { partition: _partition, ...whole } = dataset as { partition?: unknown };
  return whole;
}

async function makeHere({ deps, signal }: FederationRun, model: UntrainedModel): Promise<InitialParameters> {
  const made = await deps.aggregation.untrained(model, signal).catch((thrown: unknown) => {
    const isRefusal = thrown instanceof TrainerError && thrown.status >= 400 && thrown.status < 500;
    throw isRefusal ? new FederationFailed("VALIDATION_ERROR", `The initial parameters cannot be made: ${thrown.message}`) : thrown;
  });
  const { sha256: blob } = await deps.blobs.keepBytes(made);
  return { blob, start: JSON.stringify({ by: "coordinator", ...model } satisfies UntrainedStart) };
}

async function askUntrained(run: FederationRun, participant: Participant): Promise<InitialParameters> {
  const { parameters, config, key, ...task } = trainTask(run, participant, 0);
  const asked = { ...task, parameters, config: { ...config, untrained: true }, key: `${key}/untrained` };
  const { blob, metrics } = await askForParameters(run, participant, asked);
  // What was trained would be without noise.
  if (metrics?.[UNTRAINED_METRIC] !== 1)
    throw new FederationFailed("INITIAL_FAILED", `Participant ${participant.id} declares initial, and its answer does not say untrained.`);
  return { blob, start: JSON.stringify({ by: "participant", participantId: participant.id } satisfies UntrainedStart) };
}
