import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { INNER_CAPABILITIES } from "../../../common/training/inner-settings.ts";
import { type Metrics, meanMetrics } from "../../../common/training/metrics.ts";
import type { RoundEvaluation } from "../../../proto/gen/tributary/training/v1/metrics.ts";
import type { Federation, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { type BlobFolder, requireBlob } from "../blobs/blob-folder.ts";
import type { TrainingClient } from "../control.ts";
import type { NodeAddress } from "./node-call.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import type { Evaluation, Participants, ParticipantTask, TrainedUpdate } from "./participants.ts";

const SCHEME = "federation:";
const CALL_MS = 5000;
const POLL_MS = { first: 50, max: 1000 };

/** The pseudo-address of a participant that is a federation. */
export const innerAddress = (federationId: string): string => `${SCHEME}${federationId}`;
/** Whether an address is the pseudo-address of a federation. */
export const isInnerAddress = (url: string): boolean => url.startsWith(SCHEME);

/** How well the participants of a federation find a model. */
interface InnerEvaluation {
  readonly accuracy: number | undefined;
  readonly loss: number | undefined;
  readonly evaluations: readonly RoundEvaluation[];
}

/** Dependencies of federations as participants. */
export interface InnerFederationsOptions {
  readonly client: Pick<TrainingClient, "getWork" | "getHistory" | "runInnerRounds">;
  readonly blobs: Pick<BlobFolder, "find">;
  readonly clock: Clock;
  /** Evaluates a model as the federation evaluates its own, with its participants and settings. */
  evaluate(model: { federation: Federation; parameters: string; name: string }, signal: AbortSignal): Promise<InnerEvaluation>;
}

/**
 * Calls to participants that are federations of the same control plane. Training is a number of their rounds, from the outer parameters to the
 * last aggregate; any coordinator may run them. Nothing is in memory: a repeated call finds the rounds that the first one started.
 */
export function createInnerFederations(options: InnerFederationsOptions): Participants {
  const { client, clock } = options;
  const found = async (id: string, signal: AbortSignal): Promise<Federation> => {
    const { federation } = await asked(client.getWork({ federationId: id }, { deadlineMs: CALL_MS, signal }));
    if (!federation) throw new ParticipantProblem(`${id} does not exist any more`, { again: false });
    return federation;
  };
  const ended = async (id: string, task: ParticipantTask, signal: AbortSignal): Promise<Federation> => {
    for (let delayMs = POLL_MS.first; ; delayMs = Math.min(POLL_MS.max, delayMs * 2)) {
      const inner = await found(id, signal);
      if (isOver(inner)) return inner;
      task.onProgress?.(progressOf(inner));
      await clock.sleep(delayMs, signal);
    }
  };
  return {
    reach: async (node, signal) => {
      const { id, state } = await found(idOf(node), signal);
      if (state === "stopped" || state === "paused") throw new ParticipantProblem(`${id} is ${state}`, { again: false });
      return "octets";
    },
    capabilities: async () => INNER_CAPABILITIES,
    train: async (node, task, signal) => {
      const id = idOf(node);
      const request = { ...outerRoundOf(task), participantId: task.clientId, parameters: task.parameters };
      await asked(client.runInnerRounds(request, { deadlineMs: CALL_MS, signal }));
      return resultOf(options, await ended(id, task, signal), request.round, signal);
    },
    evaluate: async (node, task, signal) => {
      const inner = await found(idOf(node), signal);
      const name = `${inner.id}/${task.roundId}`;
      return readEvaluations(await options.evaluate({ federation: inner, parameters: task.parameters, name }, signal));
    },
    aggregate: async () => {
      throw new ParticipantProblem("it is a federation, and federations cannot aggregate opaque parameters for others", { again: false });
    },
  };
}

const idOf = ({ url }: NodeAddress): string => url.slice(SCHEME.length);

function outerRoundOf({ roundId }: ParticipantTask): { federationId: string; round: number } {
  const at = roundId.lastIndexOf("/");
  return { federationId: roundId.slice(0, at), round: Number(roundId.slice(at + 1)) };
}

const OVER = ["completed", "failed", "stopped"];
const isOver = ({ state }: Federation): boolean => OVER.includes(state);

/** The part of the inner rounds that are committed. */
function progressOf({ headRound, extendedAt, settings }: Federation): number {
  const { rounds = 0 } = JSON.parse(settings) as { rounds?: number };
  return rounds <= extendedAt ? 0 : Math.min(1, Math.max(0, (headRound - extendedAt) / (rounds - extendedAt)));
}

/** What the rounds made: the last aggregate, with the samples and metrics of all participants of the last round. */
async function resultOf(
  { client, blobs }: InnerFederationsOptions,
  inner: Federation,
  round: number,
  signal: AbortSignal,
): Promise<TrainedUpdate> {
  const { id, state, failure, headRound: head, headBlob: blob } = inner;
  const why = failure ? `: ${failure.message}` : "";
  if (state !== "completed" || inner.outer?.round !== round || head <= inner.extendedAt)
    throw new ParticipantProblem(`${id} ${state === "completed" ? "made no round" : state}${why}`.slice(0, 500), { again: false });
  const { rounds } = await asked(client.getHistory({ federationId: id, after: head - 1, limit: 1 }, { deadlineMs: CALL_MS, signal }));
  const accepted = rounds[0]?.participants.filter((participant) => participant.state === "accepted") ?? [];
  const { bytes } = await requireBlob(blobs.find, blob);
  return { blob, bytes, samples: samplesOf(accepted), metrics: meanMetrics(accepted) };
}

/** All samples together; undefined if one participant did not count its own. */
function samplesOf(accepted: readonly RoundParticipant[]): number | undefined {
  return accepted.reduce<number | undefined>(
    (sum, { samples }) => (sum === undefined || samples === undefined ? undefined : sum + Number(samples)),
    0,
  );
}

function readEvaluations({ accuracy, loss, evaluations }: InnerEvaluation): Evaluation {
  const done = evaluations.filter(({ state }) => state === "done");
  if (accuracy === undefined || done.length === 0) {
    const reason = evaluations.find(({ state }) => state === "failed")?.reason ?? "its eval.mode is none";
    throw new ParticipantProblem(`it could not evaluate: ${reason}`, { again: false });
  }
  const counts = done.map(({ samples }) => samples);
  const samples = counts.some((count) => count === undefined) ? undefined : counts.reduce((sum, count) => sum + Number(count), 0);
  const metrics: Metrics = meanMetrics(done);
  return { accuracy, loss, samples, metrics };
}

/** The control plane's answer. A control plane that is away, or an inner federation that is still busy, is asked again. */
async function asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    const again = ["UNAVAILABLE", "DB_TIMEOUT", "RECORD_CHANGED"].includes(thrown.code);
    throw new ParticipantProblem(thrown.message, { again, cause: thrown });
  }
}
