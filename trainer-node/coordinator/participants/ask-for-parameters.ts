import { pause } from "../../../common/clock.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import type { ParticipantTask, TrainedUpdate } from "./participants.ts";

const RETRY_MS = { first: 200, max: 5000 };

/** The parameters that one participant answers a task with before round 1. It is asked again until the round's deadline if it cannot be reached. */
export async function askForParameters(run: FederationRun, participant: Participant, task: ParticipantTask): Promise<TrainedUpdate> {
  const { deps, settings, signal } = run;
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(settings.deadlineMs)]);
  for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(RETRY_MS.max, delayMs * 2)) {
    const answer = await deps.participants.train(participant, task, inTime).catch((thrown: unknown) => thrown);
    signal.throwIfAborted();
    if (isUpdate(answer)) return answer;
    const isAgain = answer instanceof ParticipantProblem && answer.again && !inTime.aborted;
    if (!isAgain) throw inTime.aborted || answer instanceof ParticipantProblem ? noAnswer(run, participant, answer) : answer;
    await pause(deps.clock, delayMs, inTime);
  }
}

const isUpdate = (answer: unknown): answer is TrainedUpdate => !(answer instanceof Error);

function noAnswer({ settings }: FederationRun, { id }: Participant, thrown: unknown): FederationFailed {
  const reason = thrown instanceof ParticipantProblem ? thrown.message : `it did not answer within ${settings.deadlineMs} ms`;
  return new FederationFailed("INITIAL_FAILED", `Participant ${id} gave no initial parameters: ${reason}`);
}
