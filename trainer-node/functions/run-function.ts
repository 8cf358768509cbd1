import { joinPieces } from "../codec/pieces.ts";
import { labeledOf } from "../compute/datasets/rows.ts";
import { InputProblem } from "../compute/problem.ts";
import { TrainerError } from "../errors.ts";
import type { OperationAnswer } from "../operations/answer.ts";
import { readDataset } from "../operations/dataset.ts";
import { type OperationContext, refuseOtherBase, STARTED } from "../operations/participant.ts";
import { refuseParameters, untrainedAnswer } from "../operations/untrained-answer.ts";
import { boundOf, boundUpdate } from "./bound-update.ts";
import { type AggregateCall, type DatasetCall, parseAggregateCall, parseDatasetCall, parseServeCall } from "./function-fields.ts";
import { readAccuracy, readOutput, readParameters } from "./function-results.ts";
import type { AggregateFunction, CallContext, DatasetContext, EvaluateFunction, ServeFunction, TrainFunction } from "./function-types.ts";
import { findFunction, registeredNames } from "./registry.ts";

type FunctionRun = (fields: object, context: OperationContext) => Promise<OperationAnswer>;

/** The registered function of an operation; undefined if there is none or the operation cannot have one. */
export function functionRun(name: string): FunctionRun | undefined {
  if (name === "train") return withFunction(findFunction(name), runTrain);
  if (name === "evaluate") return withFunction(findFunction(name), runEvaluate);
  if (name === "aggregate") return withFunction(findFunction(name), runAggregate);
  if (name === "serve") return withFunction(findFunction(name), runServe);
  return undefined;
}

function withFunction<Func>(
  func: Func | undefined,
  run: (func: Func, ...call: Parameters<FunctionRun>) => ReturnType<FunctionRun>,
): FunctionRun | undefined {
  return func && ((fields, context) => run(func, fields, context));
}

async function runTrain(func: TrainFunction, fields: object, context: OperationContext): Promise<OperationAnswer> {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseDatasetCall(fields);
  if (body.config["untrained"] === true) return runInitial(body, warnings, context);
  const given = datasetContext(body, "train", context);
  const bound = boundOf(body.config);
  const sent = parametersOf(body, context);
  // A function may write into its arguments, so the update is measured from a copy of the parameters as sent.
  const base = bound && sent?.slice();
  context.onProgress(STARTED);
  const result = await func(sent, body.dataset, given);
  const nodeFields = { durationMs: context.monotonicMs() - startedMs, seed: given.seed, warnings };
  const answer = readParameters("train", result, nodeFields);
  if (!bound) return answer;
  const parameters = boundUpdate(joinPieces(answer.parameters ?? []), { ...bound, base, noiseKey: context.noiseKey });
  const { num_samples: numSamples, metrics } = answer.fields as { num_samples?: number; metrics: object };
  // Exact metrics of the model without noise would reveal what the noise hides.
  const shown = bound.deviation > 0 ? { noise_deviation: bound.deviation } : metrics;
  return readParameters("train", { parameters, numSamples, metrics: shown }, nodeFields);
}

/** A train call that asks for untrained parameters. The function gets no data, and nothing is clipped. */
async function runInitial(body: DatasetCall, warnings: readonly string[], context: OperationContext): Promise<OperationAnswer> {
  const func = findFunction("initial");
  if (!func) {
    const details = { operation: "initial", registered: registeredNames() };
    throw new TrainerError("NOT_REGISTERED", "This node has no initial function, so it has no untrained parameters to give.", { details });
  }
  refuseParameters(body);
  const given = callContext(body, context);
  context.onProgress(STARTED);
  const { parameters } = readParameters("initial", await func(given), { durationMs: 0, seed: given.seed, warnings });
  return untrainedAnswer(parameters ?? [], { seed: given.seed, warnings });
}

async function runEvaluate(func: EvaluateFunction, fields: object, context: OperationContext): Promise<OperationAnswer> {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseDatasetCall(fields);
  const given = datasetContext(body, "test", context);
  const sent = parametersOf(body, context);
  context.onProgress(STARTED);
  const result = await func(sent, body.dataset, given);
  return readAccuracy(result, { durationMs: context.monotonicMs() - startedMs, seed: given.seed, warnings });
}

async function runAggregate(func: AggregateFunction, fields: object, context: OperationContext): Promise<OperationAnswer> {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseAggregateCall(fields);
  const list = clientsOf(body, context);
  const base = body.base ?? (body.base_ref ? readReference(body.base_ref, context) : undefined);
  refuseOtherBase(body.base_hash, base);
  const given = {
    ...callContext(body, context),
    weights: body.weights ?? undefined,
    clientIds: body.client_ids ?? undefined,
    strategy: body.strategy ?? undefined,
    onInvalid: body.on_invalid,
    base,
    state: body.state ?? undefined,
  };
  context.onProgress(STARTED);
  const result = await func(list, given);
  return readParameters("aggregate", result, { durationMs: context.monotonicMs() - startedMs, seed: given.seed, warnings });
}

async function runServe(func: ServeFunction, fields: object, context: OperationContext): Promise<OperationAnswer> {
  const startedMs = context.monotonicMs();
  const { body, warnings } = parseServeCall(fields);
  const given = callContext(body, context);
  const { parameters: sent, parameters_ref: reference } = body;
  const parameters = sent ? context.served.keep(sent) : reference && (context.served.find(reference) ?? readReference(reference, context));
  if (!parameters) throw new InputProblem("VALIDATION_ERROR", "body.parameters: is required, or parameters_ref", { field: "parameters" });
  refuseOtherBase(body.base_hash, parameters);
  context.onProgress(STARTED);
  const result = await func(parameters, body.input, given);
  return readOutput(result, { durationMs: context.monotonicMs() - startedMs, seed: given.seed, warnings });
}

function datasetContext(body: DatasetCall, split: "train" | "test", context: OperationContext): DatasetContext {
  const wish = { split, kind: "labelled", labels: "required" } as const;
  return { ...callContext(body, context), rows: () => labeledOf(readDataset(body.dataset, wish, context.data)) };
}

function callContext(body: DatasetCall | AggregateCall, context: OperationContext): CallContext {
  return {
    config: body.config,
    seed: body.config.seed ?? context.seed,
    signal: context.signal,
    roundId: body.round_id ?? undefined,
    clientId: body.client_id ?? undefined,
    format: body.format ?? undefined,
    progress: (value) => context.onProgress(value),
  };
}

function parametersOf(body: DatasetCall, context: OperationContext): Uint8Array | undefined {
  const bytes = body.parameters ?? (body.parameters_ref ? readReference(body.parameters_ref, context) : undefined);
  refuseOtherBase(body.base_hash, bytes);
  return bytes;
}

function clientsOf(body: AggregateCall, context: OperationContext): Uint8Array[] {
  const { parameters_list: sent, parameters_refs: references } = body;
  if (!sent && !references)
    throw new InputProblem("VALIDATION_ERROR", "body.parameters_list: must be a list of base64 texts", { field: "parameters_list" });
  const list = [...(sent ?? []), ...(references ?? []).map((reference) => readReference(reference, context))];
  if (list.length === 0) throw new InputProblem("EMPTY_LIST", "parameters_list is empty");
  const empty = list.findIndex((bytes) => bytes.byteLength === 0);
  if (empty >= 0) throw new InputProblem("VALIDATION_ERROR", `client ${empty}: its parameters are empty`, { client: empty });
  for (const [name, given] of Object.entries({ weights: body.weights, client_ids: body.client_ids })) {
    if (given && given.length !== list.length)
      throw new InputProblem("VALIDATION_ERROR", `${name} has ${given.length} entries and parameters_list has ${list.length}`, {
        field: name,
      });
  }
  if (body.weights?.every((weight) => weight === 0))
    throw new InputProblem("VALIDATION_ERROR", "the weights must have a sum above 0", { field: "weights" });
  return list;
}

function readReference(reference: string, context: OperationContext): Uint8Array {
  return context.readBlob(reference.slice("sha256:".length));
}
