import { rowsOf } from "../compute/datasets/rows.ts";
import { findTask } from "../compute/tasks/registry.ts";
import type { OperationAnswer } from "./answer.ts";
import { readDataset } from "./dataset.ts";
import { type OperationContext, STARTED, startingModel } from "./participant.ts";
import { parseParticipantRequest } from "./schemas.ts";

/** `/evaluate`: measures how well the parameters do on the data. */
export function evaluate(value: object, context: OperationContext): OperationAnswer {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseParticipantRequest(value);
  const seed = body.config.seed ?? context.seed;
  const data = readDataset(body.dataset, { split: "test", kind: findTask(body.config.task).rows, labels: "required" }, context.data);
  const { learner, format } = startingModel(body, data, { ...context, seed });
  context.onProgress(STARTED);
  const { accuracy, loss, metrics } = learner.score(data);
  return {
    fields: {
      accuracy,
      num_samples: rowsOf(data),
      metrics: { loss, ...metrics, duration_ms: context.monotonicMs() - startedMs },
      format,
      // The seed is reported only if it influenced the answer.
      ...(body.parameters || body.parameters_ref ? {} : { seed }),
      warnings,
    },
  };
}
