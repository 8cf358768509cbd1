import { scoreSoftmax } from "../compute/tasks/softmax.ts";
import { readDataset } from "./dataset.ts";
import { type OperationContext, startingModel } from "./participant.ts";
import { parseParticipantRequest } from "./schemas.ts";

/** `/evaluate`: the share of rows the parameters label rightly. */
export function evaluate(value: unknown, context: OperationContext): object {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseParticipantRequest(value);
  const seed = body.config.seed ?? context.seed;
  const dataset = readDataset(body.dataset, "test", context.data);
  const { model, format } = startingModel(body, dataset, seed);
  const { accuracy, loss } = scoreSoftmax(model, dataset);
  return {
    accuracy,
    num_samples: dataset.rows,
    metrics: { loss, duration_ms: context.monotonicMs() - startedMs },
    format,
    // A seed that had no part in the answer is not reported as if it had.
    ...(body.parameters ? {} : { seed }),
    warnings,
  };
}
