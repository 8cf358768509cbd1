import { encodePieces } from "../codec/parameters.ts";
import { findTask } from "../compute/tasks/registry.ts";
import type { OperationAnswer } from "./answer.ts";
import { readDataset } from "./dataset.ts";
import { type OperationContext, STARTED, startingModel } from "./participant.ts";
import type { ParticipantRequest } from "./schemas.ts";
import { refuseParameters, untrainedAnswer } from "./untrained-answer.ts";

/** A new model for the data, which has learned nothing from it: only the columns and classes of the data decide its shape. */
export function untrainedModel(body: ParticipantRequest, warnings: readonly string[], context: OperationContext): OperationAnswer {
  refuseParameters(body);
  const seed = body.config.seed ?? context.seed;
  const { rows: kind } = findTask(body.config.task);
  const data = readDataset(body.dataset, { split: "train", kind, labels: "required" }, context.data);
  const { learner, format } = startingModel(body, data, { ...context, seed });
  context.onProgress(STARTED);
  return untrainedAnswer(encodePieces(learner.tensors(), format), { format, seed, warnings });
}
