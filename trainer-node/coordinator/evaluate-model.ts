import { pause } from "../../common/clock.ts";
import { coversRows, evaluationProblem } from "../../common/training/evaluation-rules.ts";
import { federationSettings } from "../../common/training/federation-settings.ts";
import { meanMetrics, readMetrics } from "../../common/training/metrics.ts";
import type { RoundEvaluation } from "../../proto/gen/tributary/training/v1/metrics.ts";
import type { Federation, Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { CoordinatorDeps, FederationRun } from "./deps.ts";
import { membersOf } from "./participants/joined-work.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";
import { presentMembers } from "./participants/present-participants.ts";
import { createSlots, takeSlot } from "./participants/slots.ts";
import { ownDataset } from "./train-task.ts";
import { requireSamples } from "./updates/inspect-update.ts";

/** The parts of a federation that an evaluation needs. The federation need not be claimed. */
type Evaluator = Omit<FederationRun, "control">;

/** An evaluation that a participant is asked for. */
interface Ask {
  readonly participant: Participant;
  readonly model: string;
  readonly name: string;
  readonly dataset: unknown;
}

/** How well a model does, and what each participant that was asked said. Without accuracy, no participant could evaluate it. */
export interface ModelEvaluation {
  readonly accuracy: number | undefined;
  readonly loss: number | undefined;
  readonly evaluations: readonly RoundEvaluation[];
}

/** Failed evaluations that are recorded with a held-out evaluation. */
const FAILURES_MAX = 100;
/** Bytes of the reasons of a round, which is one message between processes. */
const REASON_BYTES = 512 * 1024;
const REASON_LENGTH_MAX = 500;
/** The reason why a call ends whose answer no longer counts. */
const NOT_NEEDED = new Error("another evaluation counts");
/** Calls of a participant that says when to ask again, after which its evaluation has failed. */
const BUSY_CALLS = 3;

/** Evaluates a model on held-out data, or on the data of all participants, weighted by the number of samples. */
export async function evaluateModel(given: Evaluator, model: string, name: string, clients?: number): Promise<ModelEvaluation> {
  const run = clients === undefined ? given : withClients(given, clients);
  const evaluations = await evaluationsOf(run, model, name);
  const done = evaluations.filter(({ state }) => state === "done");
  const { accuracy, loss } = meanMetrics(done) as { accuracy?: number; loss?: number };
  // A mean over some of the participants would not be the loss of the model.
  const hasLoss = done.every(({ metrics }) => metrics["loss"] !== undefined);
  return { accuracy, loss: hasLoss ? loss : undefined, evaluations };
}

/** Evaluates a model as a federation evaluates its own. */
export function evaluateFor(
  deps: CoordinatorDeps,
  { federation, parameters, name }: { federation: Federation; parameters: string; name: string },
  signal: AbortSignal,
): Promise<ModelEvaluation> {
  const settings = federationSettings.parse(JSON.parse(federation.settings));
  return evaluateModel({ deps, federation, settings, members: membersOf(federation), signal }, parameters, name);
}

/** Sums over participants need the number that they were divided by, which parameters alone do not show. */
function withClients(run: Evaluator, clients: number): Evaluator {
  const { settings } = run;
  return { ...run, settings: { ...settings, task: { ...settings.task, config: { clients, ...settings.task.config } } } };
}

async function evaluationsOf(run: Evaluator, model: string, name: string): Promise<RoundEvaluation[]> {
  const { settings } = run;
  // A federation that an earlier version stored may ask for figures that its privacy does not cover.
  if (settings.eval.mode === "none" || evaluationProblem(askedOf(run))) return [];
  // For the same reason inner federations, which evaluate by their own settings, are not asked then.
  const members = presentMembers(run).filter(({ inner }) => inner === undefined || !coversRows(settings));
  if (settings.eval.mode === "sites") {
    const asks = members.map((participant) => ({ participant, model, name, dataset: ownDataset(run, participant) }));
    return withDeadline(run, (inTime) => Promise.all(askAll(run, asks, inTime)));
  }
  const chosen = settings.eval.participant;
  const named = chosen === undefined ? undefined : members.find(({ id }) => id === `p${chosen + 1}`);
  const asks = (named ? [named] : members).map((participant) => ({ participant, model, name, dataset: heldOut(run) }));
  return firstOf(run, asks);
}

/**
 * The first evaluation in order that is done, after those that failed. Participants are asked one after the other, until one misses the
 * deadline: the others are then asked together, so that many that do not answer cost two deadlines and not one each.
 */
async function firstOf(run: Evaluator, asks: readonly Ask[]): Promise<RoundEvaluation[]> {
  const failed: RoundEvaluation[] = [];
  const isDone = (evaluation: RoundEvaluation): boolean => {
    if (evaluation.state !== "done" && failed.length < FAILURES_MAX) failed.push(evaluation);
    return evaluation.state === "done";
  };
  for (const [index, one] of asks.entries()) {
    const { evaluation, isLate } = await withDeadline(run, async (inTime) => ({
      evaluation: await ask(run, one, inTime),
      isLate: inTime.aborted,
    }));
    if (isDone(evaluation)) return [...failed, evaluation];
    if (!isLate) continue;
    const found = await withDeadline(run, async (inTime) => {
      const answers = askAll(run, asks.slice(index + 1), inTime);
      // Those behind the first that is done are not awaited.
      void Promise.allSettled(answers);
      for (const answer of answers) {
        const next = await answer;
        if (isDone(next)) return next;
      }
      return undefined;
    });
    return found ? [...failed, found] : failed;
  }
  return failed;
}

/** Asks participants at the same time, within the limit on calls. */
function askAll(run: Evaluator, asks: readonly Ask[], inTime: AbortSignal): Promise<RoundEvaluation>[] {
  const slots = createSlots(run.deps.callsMax);
  return asks.map(async (one) => {
    const release = await takeSlot(run.deps, slots, one.participant);
    try {
      return await ask(run, one, inTime);
    } finally {
      release();
    }
  });
}

/** Does work with a signal that aborts at the federation's deadline, and when the work is over: what is still under way then is not needed. */
async function withDeadline<Result>({ settings, signal }: Evaluator, work: (inTime: AbortSignal) => Promise<Result>): Promise<Result> {
  const over = new AbortController();
  try {
    return await work(AbortSignal.any([signal, over.signal, AbortSignal.timeout(settings.deadlineMs)]));
  } finally {
    over.abort(NOT_NEEDED);
  }
}

function askedOf({ settings, federation }: Evaluator): Parameters<typeof evaluationProblem>[0] {
  const participants = federation.participants.map(({ dataset, inner }) => ({
    dataset: dataset === "" ? undefined : (JSON.parse(dataset) as unknown),
    federation: inner?.federationId,
  }));
  return { ...settings, participants };
}

/** The dataset for held-out evaluation: the one that the settings name, or the task's whole dataset, of which nodes use the test split. */
function heldOut({ settings }: Evaluator): unknown {
  if (settings.eval.dataset !== undefined) return settings.eval.dataset;
  const { dataset } = settings.task;
  if (typeof dataset !== "object" || dataset === null || Array.isArray(dataset)) return dataset;
  const { partition: _part, ...whole } = dataset;
  // Functions with data of their own get a partition alone, and no dataset without it; an empty one would be refused.
  return Object.keys(whole).length === 0 ? undefined : whole;
}

async function ask(run: Evaluator, { participant, model, name, dataset }: Ask, inTime: AbortSignal): Promise<RoundEvaluation> {
  const { deps, settings, members, signal } = run;
  const config = { task: settings.task.name, ...settings.task.config };
  const task = { parameters: model, dataset, config, key: `${name}/${participant.id}/evaluate`, roundId: name, clientId: participant.id };
  const about = { participantId: participant.id, reason: "", samples: undefined };
  try {
    inTime.throwIfAborted();
    const { samples, metrics } = await unlessBusy(deps, () => deps.participants.evaluate(participant, task, inTime), inTime);
    requireSamples(samples, settings, participant);
    const counted = samples === undefined ? undefined : BigInt(Math.max(0, Math.round(samples)));
    return { ...about, state: "done", samples: counted, metrics: { ...readMetrics(metrics, members.length) } };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof ParticipantProblem) && !inTime.aborted) throw thrown;
    const reason = thrown instanceof ParticipantProblem ? thrown.message : `it had not answered after ${settings.deadlineMs} ms`;
    if (inTime.reason !== NOT_NEEDED)
      deps.logger.info({ federation: run.federation.id, participant: participant.id, reason }, "a participant's evaluation failed");
    const length = Math.min(REASON_LENGTH_MAX, Math.floor(REASON_BYTES / members.length));
    return { ...about, state: "failed", reason: reason.slice(0, length), metrics: {} };
  }
}

async function unlessBusy<Result>(
  { clock }: Pick<CoordinatorDeps, "clock">,
  call: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (thrown) {
      const isBusy = thrown instanceof ParticipantProblem && thrown.again && thrown.retryAfterMs !== undefined;
      if (!isBusy || tries === BUSY_CALLS) throw thrown;
      await pause(clock, thrown.retryAfterMs ?? 0, signal);
      if (signal.aborted) throw thrown;
    }
  }
}
