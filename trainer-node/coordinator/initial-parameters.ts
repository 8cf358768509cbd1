import { pause } from "../../common/clock.ts";
import type { FederationSettings } from "../../common/training/federation-settings.ts";
import { initialProblems } from "../../common/training/initial-settings.ts";
import type { Federation, Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { BlobFolder } from "./blobs/blob-folder.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";
import type { TrainedUpdate } from "./participants/participants.ts";
import { trainTask } from "./train-task.ts";
import { withFittingControls } from "./updates/fitting-controls.ts";
import { inspectBlob } from "./updates/inspect-blob.ts";
import { requireReadable, UNSUPPORTED } from "./updates/inspect-update.ts";

const RETRY_MS = { first: 200, max: 5000 };

/**
 * The federation with the parameters that its first round starts from: those that were named at its creation, or those that one participant
 * gives. They are checked before the first round, because all participants receive them.
 */
export async function withInitialParameters(run: FederationRun): Promise<Federation> {
  const { deps, settings, federation } = run;
  const { initial } = settings;
  if (!initial || federation.headRound > 0) return federation;
  const isAsked = federation.headBlob === "" && "participant" in initial;
  const given = isAsked ? await askParticipant(run, initial.participant) : federation.headBlob;
  const problem = await initialProblem(deps.blobs, given, settings);
  if (problem === undefined) {
    const headBlob = await withFittingControls(deps.blobs, given, settings);
    if (headBlob !== given) await deps.blobs.copied([headBlob], { isReferenced: false }, run.signal);
    return { ...federation, headBlob, initialBlob: headBlob };
  }
  throw new FederationFailed(problem.startsWith(UNSUPPORTED) ? UNSUPPORTED : "VALIDATION_ERROR", unusable(problem));
}

/** Why a federation with these settings cannot start from a blob; undefined if it can. */
export async function initialProblem(
  blobs: BlobFolder,
  sha256: string,
  settings: Pick<FederationSettings, "dp" | "secureAggregation" | "strategy">,
): Promise<string | undefined> {
  try {
    requireReadable(await inspectBlob(blobs, sha256), settings);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof ParticipantProblem) return thrown.message;
    throw thrown;
  }
}

const unusable = (problem: string): string => `The initial parameters cannot be used: ${problem}`;

/** Stores what a participant trains without parameters. It is asked again until the round's deadline if it cannot be reached. */
async function askParticipant(run: FederationRun, index: number): Promise<string> {
  const { deps, control, settings, members, signal } = run;
  const [refused] = initialProblems({ ...settings, participants: members });
  const participant = members[index];
  if (refused || !participant) throw new FederationFailed("VALIDATION_ERROR", `initial.participant ${refused?.message ?? "is missing"}`);
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(settings.deadlineMs)]);
  for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(RETRY_MS.max, delayMs * 2)) {
    const answer = await deps.participants.train(participant, trainTask(run, participant, 0), inTime).catch((thrown: unknown) => thrown);
    signal.throwIfAborted();
    if (isUpdate(answer)) return control.setInitial(answer.blob);
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
