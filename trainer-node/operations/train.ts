import { encodeParameters } from "../codec/parameters.ts";
import { addNoise } from "../compute/add-noise.ts";
import { clipUpdate } from "../compute/clip-update.ts";
import { rowsOf } from "../compute/datasets/rows.ts";
import { findTask } from "../compute/tasks/registry.ts";
import { type OperationAnswer, sha256 } from "./answer.ts";
import { readDataset } from "./dataset.ts";
import { keyedRandom } from "./keyed-random.ts";
import { type OperationContext, startingModel } from "./participant.ts";
import { parseParticipantRequest } from "./schemas.ts";

/** `/train`: the parameters after some epochs on the data. */
export function train(value: object, context: OperationContext): OperationAnswer {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseParticipantRequest(value);
  const { epochs, batch_size: batchSize, lr: learningRate, optimizer, momentum, mu, clip_norm: clipNorm } = body.config;
  const seed = body.config.seed ?? context.seed;
  const data = readDataset(body.dataset, { split: "train", kind: findTask(body.config.task).rows, labels: "required" }, context.data);
  const { learner, format } = startingModel(body, data, { ...context, seed });
  const before = clipNorm ? learner.tensors() : [];
  learner.train(data, { epochs, batchSize, learningRate, seed, optimizer, momentum, mu: mu ?? 0 }, context.onProgress);
  const trained = learner.tensors();
  const clipped = clipNorm ? clipUpdate(before, trained, clipNorm) : trained;
  const deviation = (body.config.noise_multiplier ?? 0) * (clipNorm ?? 0);
  const bytes = encodeParameters(deviation > 0 ? addNoise(clipped, deviation, keyedRandom(context.noiseKey)) : clipped, format);
  // Exact figures of the model before the noise would tell what the noise hides.
  const figures = deviation > 0 ? { noise_deviation: deviation } : learner.score(data);
  return {
    parameters: bytes,
    fields: {
      num_samples: rowsOf(data),
      metrics: { ...figures, duration_ms: context.monotonicMs() - startedMs },
      sha256: sha256(bytes),
      format,
      seed,
      warnings,
    },
  };
}
