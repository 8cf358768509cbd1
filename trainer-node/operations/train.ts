import { encodeBase64 } from "../codec/base64.ts";
import { encodeParameters } from "../codec/parameters.ts";
import { scoreSoftmax, trainSoftmax } from "../compute/tasks/softmax.ts";
import { writeModel } from "../compute/tasks/softmax-model.ts";
import { readDataset } from "./dataset.ts";
import { type OperationContext, sha256, startingModel } from "./participant.ts";
import { parseParticipantRequest } from "./schemas.ts";

/** `/train`: the parameters after some epochs on the data. */
export function train(value: unknown, context: OperationContext): object {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseParticipantRequest(value);
  const { epochs, batch_size: batchSize, lr: learningRate } = body.config;
  const seed = body.config.seed ?? context.seed;
  const dataset = readDataset(body.dataset, "train", context.data);
  const start = startingModel(body, dataset, seed);
  const model = trainSoftmax(start.model, dataset, { epochs, batchSize, learningRate, seed });
  const bytes = encodeParameters(writeModel(model), start.format);
  const { loss, accuracy } = scoreSoftmax(model, dataset);
  return {
    parameters: encodeBase64(bytes),
    num_samples: dataset.rows,
    metrics: { loss, accuracy, duration_ms: context.monotonicMs() - startedMs },
    sha256: sha256(bytes),
    format: start.format,
    seed,
    warnings,
  };
}
