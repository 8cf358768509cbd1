import { rowsOf } from "../compute/datasets/rows.ts";
import { InputProblem } from "../compute/problem.ts";
import { findTask } from "../compute/tasks/registry.ts";
import type { OperationAnswer } from "./answer.ts";
import { readDataset } from "./dataset.ts";
import { type OperationContext, startingModel } from "./participant.ts";
import { parseParticipantRequest } from "./schemas.ts";

const ROWS_MAX = 10_000;

/** `/predict`: predicts every row; rows need no labels. */
export function predict(value: object, context: OperationContext): OperationAnswer {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseParticipantRequest(value);
  if (!body.parameters && !body.parameters_ref)
    throw new InputProblem("VALIDATION_ERROR", "predict requires parameters", { field: "parameters" });
  const data = readDataset(body.dataset, { split: "test", kind: findTask(body.config.task).rows, labels: "optional" }, context.data);
  if (rowsOf(data) > ROWS_MAX)
    throw new InputProblem("VALIDATION_ERROR", `predict takes at most ${ROWS_MAX} rows per call`, { rows: rowsOf(data) });
  const { learner, format } = startingModel(body, data, { ...context, seed: context.seed });
  return {
    fields: {
      predictions: learner.predict(data),
      num_samples: rowsOf(data),
      metrics: { duration_ms: context.monotonicMs() - startedMs },
      format,
      warnings,
    },
  };
}
