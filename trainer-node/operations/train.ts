import { decodeParameters, encodePieces, type Format } from "../codec/parameters.ts";
import { addNoise } from "../compute/add-noise.ts";
import { clipUpdate } from "../compute/clip-update.ts";
import { type Controls, openControls } from "../compute/control-variates.ts";
import { type RowsData, rowsOf } from "../compute/datasets/rows.ts";
import { InputProblem } from "../compute/problem.ts";
import { findTask } from "../compute/tasks/registry.ts";
import type { Learner, Task } from "../compute/tasks/task.ts";
import type { Tensor } from "../compute/tensor.ts";
import { type OperationAnswer, sha256 } from "./answer.ts";
import { readDataset } from "./dataset.ts";
import { keyedRandom } from "./keyed-random.ts";
import { type OperationContext, STARTED, startingModel } from "./participant.ts";
import { type ParticipantRequest, parseParticipantRequest } from "./schemas.ts";
import { untrainedModel } from "./untrained.ts";

/** `/train`: trains the parameters for some epochs on the data. */
export function train(value: object, context: OperationContext): OperationAnswer {
  const { body, warnings } = parseParticipantRequest(value);
  return (body.config.untrained ? untrainedModel : trainedModel)(body, warnings, context);
}

function trainedModel(body: ParticipantRequest, warnings: readonly string[], context: OperationContext): OperationAnswer {
  const startedMs = context.monotonicMs();
  const task = findTask(body.config.task);
  const { epochs, batch_size: batchSize, lr: learningRate, optimizer, momentum, mu, clip_norm: clipNorm } = body.config;
  const seed = body.config.seed ?? context.seed;
  const data = readDataset(body.dataset, { split: "train", kind: task.rows, labels: "required" }, context.data);
  const { learner, format, controls: sent } = startingModel(body, data, { ...context, seed });
  context.onProgress(STARTED);
  const before = clipNorm || body.config.scaffold ? learner.tensors() : [];
  const controls = body.config.scaffold ? openControls(before, givenControls(body, sent, format)) : undefined;
  const lossBefore = body.config.loss_before ? { loss_before: learner.score(data).loss } : {};
  const settings = { epochs, batchSize, learningRate, seed, optimizer, momentum, mu: mu ?? 0, correction: controls?.correction };
  const steps = learner.train(data, settings, context.onProgress);
  const trained = learner.tensors();
  const control = controls?.after(trained, { steps, rate: learningRate });
  const clipped = clipNorm ? clipUpdate(before, trained, clipNorm) : trained;
  const deviation = (body.config.noise_multiplier ?? 0) * (clipNorm ?? 0);
  const update = deviation > 0 ? addNoise(clipped, deviation, keyedRandom(context.noiseKey)) : clipped;
  const parameters = encodePieces([...update, ...(control?.change ?? [])], format);
  // Exact metrics of the model without noise would reveal what the noise hides.
  const figures = deviation > 0 ? { noise_deviation: deviation } : { ...lossBefore, ...scoreOf(learner, data, task) };
  return {
    parameters,
    state: ownState(control, body.config.scaffold),
    fields: {
      ...(task.sums ? {} : { num_samples: rowsOf(data) }),
      metrics: { ...figures, duration_ms: context.monotonicMs() - startedMs },
      sha256: sha256(parameters),
      format,
      seed,
      warnings: [...warnings, ...(sent.controls.length > 0 && !controls ? ["control variates ignored: config.scaffold is not set"] : [])],
    },
  };
}

/** The server's control variate, and this participant's own: beside the parameters, or as the state of its last answer. */
function givenControls(
  { state }: ParticipantRequest,
  { controls, own }: { readonly controls: readonly Tensor[]; readonly own: readonly Tensor[] },
  format: Format,
): Parameters<typeof openControls>[1] {
  if (format === "npy")
    throw new InputProblem("VALIDATION_ERROR", "npy has no room for control variates; send safetensors, msgpack or npz", {
      field: "config.scaffold",
    });
  if (own.length > 0) return { server: controls, own };
  return { server: controls, own: state ? decodeParameters(state).tensors : [] };
}

/** Metrics of the trained model. Those of sums would be the figures of this participant alone, which masks are to hide. */
function scoreOf(learner: Learner, data: RowsData, { sums }: Task): object {
  if (sums) return {};
  const { metrics, ...score } = learner.score(data);
  return { ...score, ...metrics };
}

/** This participant's own control variate, unless the caller sums its changes. */
function ownState(control: ReturnType<Controls["after"]> | undefined, mode: unknown): readonly Uint8Array[] | undefined {
  return control && mode !== "change" ? encodePieces(control.own, "msgpack") : undefined;
}
