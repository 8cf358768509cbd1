import { type Metrics, meanMetrics } from "../../../../common/training/metrics.ts";
import type { RoundEvaluation } from "../../../../proto/gen/tributary/training/v1/metrics.ts";
import type { Round } from "../../../../proto/gen/tributary/training/v1/training.ts";

/** The numbers of training and of evaluation. */
export interface OperationMetrics {
  readonly train: Metrics;
  readonly evaluate: Metrics;
}

export interface EvaluationOutcome {
  readonly state: string;
  readonly reason: string | null;
}

/** The means of a round's metrics: of the accepted updates, and of the evaluations of its result. */
export function roundMetrics({ participants, evaluations }: Round): OperationMetrics {
  return {
    train: meanMetrics(participants.filter(({ state }) => state === "accepted")),
    evaluate: meanMetrics(evaluations.filter(({ state }) => state === "done")),
  };
}

/** Null if no participant was asked to evaluate the result. One evaluation that is done suffices. */
export function roundEvaluation({ evaluations }: Round): EvaluationOutcome | null {
  if (evaluations.length === 0) return null;
  if (evaluations.some(({ state }) => state === "done")) return { state: "done", reason: null };
  const reasons = evaluations.map(({ participantId, reason }) => `${participantId}: ${reason}`).join("; ");
  return { state: "failed", reason: reasons.slice(0, 1000) };
}

export interface ParticipantMetrics {
  readonly metrics: OperationMetrics;
  readonly evaluation: EvaluationOutcome | null;
}

/** Metrics by participant: of those that the round selected, and of those that evaluated its result. */
export function participantMetrics({ participants, evaluations }: Round): Map<string, ParticipantMetrics> {
  const evaluated = new Map(evaluations.map((evaluation) => [evaluation.participantId, evaluation]));
  const trained = new Map(participants.map(({ participantId, metrics }) => [participantId, metrics]));
  const ids = [...new Set([...trained.keys(), ...evaluated.keys()])];
  return new Map(
    ids.map((id) => {
      const evaluation = evaluated.get(id);
      const metrics = { train: trained.get(id) ?? {}, evaluate: evaluation?.metrics ?? {} };
      return [id, { metrics, evaluation: outcomeOf(evaluation) }];
    }),
  );
}

function outcomeOf(evaluation: RoundEvaluation | undefined): EvaluationOutcome | null {
  return evaluation ? { state: evaluation.state, reason: evaluation.reason === "" ? null : evaluation.reason } : null;
}
