import type { Manifest } from "../../common/training/trained-manifest.ts";
import { decodeParameters } from "../codec/parameters.ts";
import { splitControls } from "../compute/control-variates.ts";
import type { Dataset } from "../compute/datasets/dataset.ts";
import type { RowsData } from "../compute/datasets/rows.ts";
import { InputProblem } from "../compute/problem.ts";
import { columnsOf } from "../compute/tasks/network-task.ts";
import { findTask } from "../compute/tasks/registry.ts";
import type { ByteWriter, Learner } from "../compute/tasks/task.ts";
import type { Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { digitsModel } from "./built-in.ts";
import type { ModelCache } from "./model-cache.ts";
import { readRows } from "./read-rows.ts";
import { sample } from "./sample.ts";
import type { PredictAnswer, ServeRequest, WriteAnswer } from "./serve-request.ts";

/** What a thread provides for served models. */
export interface ServeContext {
  readonly digits: () => Dataset;
  readonly readBlob: (digest: string) => Uint8Array<ArrayBuffer>;
}

/** The index of the end of a text among the scores. */
const END = 256;
/** A loaded model needs its tensors and about as much again to compute. */
const WORKING_COPIES = 2;

/** Runs a task for a served model. */
export function serve(request: ServeRequest, models: ModelCache, context: ServeContext): PredictAnswer | WriteAnswer {
  return request.type === "predict" ? predict(request, models, context) : write(request, models, context);
}

function predict({ id, manifest, texts }: Extract<ServeRequest, { type: "predict" }>, models: ModelCache, context: ServeContext) {
  const data = readRows(texts, findTask(manifest.task).rows, manifest);
  const columns = columnsOf(data);
  try {
    return models.get(`${id} ${columns}`, () => open(manifest, data, context)).predict(data);
  } catch (thrown) {
    // The caller did not send the parameters, so the error is about its row.
    if (!(thrown instanceof InputProblem) || thrown.kind !== "SHAPE_MISMATCH" || columns === 0) throw thrown;
    throw new InputProblem("VALIDATION_ERROR", `a row of ${columns} numbers does not fit this model: ${thrown.message}`, thrown.details);
  }
}

function write(request: Extract<ServeRequest, { type: "write" }>, models: ModelCache, context: ServeContext): WriteAnswer {
  const { id, manifest, tail, position, count, sampling } = request;
  const writer = writerOf(models.get(`${id} text`, () => open(manifest, readRows([""], "texts", manifest), context)));
  if (!writer) throw new InputProblem("VALIDATION_ERROR", `a model of the task ${manifest.task} does not generate text`);
  const written = [...tail];
  for (let done = 0; done < count; done++) {
    const next = sample(writer.next(written), sampling, position + done);
    if (next === END) return { bytes: written.slice(tail.length), ended: true };
    written.push(next);
  }
  return { bytes: written.slice(tail.length), ended: false };
}

/** Setting up a writer takes longer than writing many bytes, so it lives as long as its model. */
const writers = new WeakMap<Learner, ByteWriter>();

function writerOf(learner: Learner): ByteWriter | undefined {
  const known = writers.get(learner);
  if (known || !learner.writer) return known;
  const writer = learner.writer();
  writers.set(learner, writer);
  return writer;
}

function open(manifest: Manifest, data: RowsData, context: ServeContext) {
  const { tensors, single } = tensorsOf(manifest, context);
  const bytes = tensors.reduce((sum, tensor) => sum + tensor.data.byteLength, 0) * WORKING_COPIES;
  return { learner: findTask(manifest.task).open({ tensors, data, options: {}, single, seed: 0 }), bytes };
}

function tensorsOf({ blob, task }: Manifest, { digits, readBlob }: ServeContext): { tensors: readonly Tensor[]; single: boolean } {
  if (blob === undefined) return { tensors: digitsModel(task, digits()), single: false };
  const { tensors, format } = decoded(blob, readBlob(blob));
  // A model of SCAFFOLD has control variates beside it, which only its training needs.
  return { tensors: splitControls(tensors).model, single: format === "npy" };
}

/** A repeated call and another node cannot help, so the error is not one of an unavailable node. */
function decoded(digest: string, bytes: Uint8Array<ArrayBuffer>): ReturnType<typeof decodeParameters> {
  try {
    return decodeParameters(bytes);
  } catch (cause) {
    if (!(cause instanceof InputProblem || cause instanceof TrainerError)) throw cause;
    const message = `The parameters sha256:${digest} of this model cannot be read, so it has to be published with others: ${cause.message}`;
    throw new TrainerError("VALIDATION_ERROR", message, { details: { sha256: digest }, cause });
  }
}
