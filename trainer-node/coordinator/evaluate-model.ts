import type { Participant } from "../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "./deps.ts";
import { ParticipantProblem } from "./participants/participant-problem.ts";
import type { Evaluation } from "./participants/participants.ts";
import { ownDataset } from "./train-task.ts";

/** The parts of a federation that an evaluation needs. The federation need not be claimed. */
type Evaluator = Omit<FederationRun, "control">;

/** Evaluates a model on held-out data or on the data of all participants; undefined if no participant could evaluate it. */
export async function evaluateModel(run: Evaluator, model: string, name: string): Promise<Evaluation | undefined> {
  const { settings, members } = run;
  if (settings.eval.mode === "none") return undefined;
  if (settings.eval.mode === "sites") return acrossSites(run, model, name);
  const chosen = settings.eval.participant;
  const named = chosen === undefined ? undefined : members.find(({ id }) => id === `p${chosen + 1}`);
  for (const participant of named ? [named] : members) {
    const evaluation = await ask(run, { participant, model, name, dataset: heldOut(run) });
    if (evaluation) return evaluation;
  }
  return undefined;
}

/** The dataset for held-out evaluation: the one that the settings name, or the task's whole dataset, of which nodes use the test split. */
function heldOut({ settings }: Evaluator): unknown {
  if (settings.eval.dataset !== undefined) return settings.eval.dataset;
  const { dataset } = settings.task;
  if (typeof dataset !== "object" || dataset === null || Array.isArray(dataset)) return dataset;
  const { partition: _part, ...whole } = dataset;
  return whole;
}

/** Evaluates the model on every participant's own data, weighted by the number of samples. */
async function acrossSites(run: Evaluator, model: string, name: string): Promise<Evaluation | undefined> {
  const asked = await Promise.all(
    run.members.map((participant) => ask(run, { participant, model, name, dataset: ownDataset(run, participant) })),
  );
  const evaluations = asked.filter((evaluation) => evaluation !== undefined);
  if (evaluations.length === 0) return undefined;
  const areCounted = evaluations.every(({ samples }) => samples !== undefined && samples > 0);
  const weights = evaluations.map(({ samples }) => (areCounted ? (samples ?? 1) : 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const mean = (pick: (evaluation: Evaluation) => number) =>
    evaluations.reduce((sum, evaluation, index) => sum + pick(evaluation) * (weights[index] ?? 0), 0) / total;
  const hasLoss = evaluations.every(({ loss }) => loss !== undefined);
  return {
    accuracy: mean(({ accuracy }) => accuracy),
    loss: hasLoss ? mean(({ loss }) => loss ?? 0) : undefined,
    samples: areCounted ? total : undefined,
  };
}

async function ask(
  run: Evaluator,
  { participant, model, name, dataset }: { participant: Participant; model: string; name: string; dataset: unknown },
): Promise<Evaluation | undefined> {
  const { deps, settings, signal } = run;
  const config = { task: settings.task.name, ...settings.task.config };
  const task = { parameters: model, dataset, config, key: `${name}/${participant.id}/evaluate`, roundId: "" };
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(settings.deadlineMs)]);
  try {
    return await deps.participants.evaluate(participant, task, inTime);
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof ParticipantProblem) && !inTime.aborted) throw thrown;
    deps.logger.info(
      { federation: run.federation.id, participant: participant.id, reason: String(thrown) },
      "a participant's evaluation failed",
    );
    return undefined;
  }
}
