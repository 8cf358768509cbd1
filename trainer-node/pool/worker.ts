import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { move, transferableSymbol, valueSymbol, workerData } from "piscina";
import { systemClock } from "../../common/clock.ts";
import { blobReader } from "../blobs/blob-reader.ts";
import { openResiduals } from "../blobs/residuals.ts";
import { createResultArrays } from "../compute/clients/result-arrays.ts";
import type { Dataset } from "../compute/datasets/dataset.ts";
import { parseDigits } from "../compute/datasets/digits.ts";
import { createKernels } from "../compute/kernels/create-kernels.ts";
import { createKernelMemory, type KernelMemory } from "../compute/kernels/kernel-memory.ts";
import { asTrainerError } from "../errors.ts";
import { loadFunctions } from "../functions/load-functions.ts";
import type { FunctionName } from "../functions/registry.ts";
import { createServedParameters } from "../functions/served-parameters.ts";
import type { BlobAggregation } from "../operations/aggregate-blobs.ts";
import { aggregateWholeBlobs } from "../operations/aggregate-whole-blobs.ts";
import { createClientIntake } from "../operations/client-intake.ts";
import { type BlobExpansion, expandBlob } from "../operations/expand-blob.ts";
import { runOperation } from "../operations/run.ts";
import { storeAnswer } from "../operations/store-answer.ts";
import { doSecureWork, type SecureWork } from "../privacy/secure-work.ts";
import { createClientRecords } from "../records/client-records.ts";
import { createModelCache } from "../serving/model-cache.ts";
import { serve } from "../serving/serve.ts";
import type { ServeRequest } from "../serving/serve-request.ts";
import { joinedSource, wholeSource } from "../stream/byte-source.ts";
import { BrokenBody, ringSource } from "../stream/ring.ts";
import type { ComputeResult, ComputeTask, WorkerData } from "./messages.ts";

/** A function may throw a message of any length. */
const MESSAGE_MAX = 4000;
const MODEL_BYTES = 64 * 1024 * 1024;
const RECORD_BYTES_IN_MEMORY = 64 * 1024 * 1024;
/** A thread keeps its memory for the next call unless a call needed more than its records and this. */
const MEMORY_BYTES_BESIDE = 256 * 1024 * 1024;

/** Bytes of result arrays that a thread keeps for the next call: one model of twenty-five million float32. */
const RESULT_BYTES_KEPT = 100 * 1024 * 1024;

const { fallback, tempFolder, recordBytesInMemory, blobFolder, datasetUris, datasetAuthorities, functionsUrl, builtins, modelBytes } =
  workerData as WorkerData;
const memoryBytes = recordBytesInMemory ?? RECORD_BYTES_IN_MEMORY;
const models = createModelCache(modelBytes ?? MODEL_BYTES);
const served = createServedParameters(modelBytes ?? MODEL_BYTES);
let memory: KernelMemory | undefined;
const results = createResultArrays(RESULT_BYTES_KEPT);
let digits: Dataset | undefined;
let loading: Promise<readonly FunctionName[]> | undefined;

/** The function that the pool calls. All expensive work, from parsing the body to writing the answer, runs in it. */
export async function runTask(task: ComputeTask): Promise<unknown> {
  if (task.type === "warm-up") return moved(await warmUp());
  if (task.type === "secure") return moved(secureResult(task.work));
  if (task.type === "aggregate-blobs") return moved(blobsResult(task.request));
  if (task.type === "expand-blob") return moved(expandResult(task.request));
  return moved(task.type === "serve" ? serveResult(task.request) : await callResult(task));
}

async function warmUp(): Promise<ComputeResult> {
  loadDigits();
  createKernels(0);
  try {
    return { type: "warm", registered: await functions() };
  } catch (thrown) {
    return failure(thrown);
  }
}

/** Loads the registered functions once. A thread that replaces an ended one gets a call without a warm-up. */
function functions(): Promise<readonly FunctionName[]> {
  loading ??= functionsUrl === undefined ? Promise.resolve([]) : loadFunctions(functionsUrl);
  return loading;
}

async function callResult(task: Extract<ComputeTask, { type: "call" }>): Promise<ComputeResult> {
  memory ??= createKernelMemory();
  const records = createClientRecords({ folder: tempFolder ?? tmpdir(), memoryBytes, memory, results });
  const canceled = new AbortController();
  task.cancel?.once("message", () => canceled.abort());
  try {
    await functions();
    const source = joinedSource(wholeSource(task.body), ...(task.ring ? [ringSource(task.ring)] : []));
    const context = {
      data: { digits: loadDigits, fallback, uris: datasetUris ?? [], authorities: datasetAuthorities },
      seed: task.seed,
      monotonicMs: systemClock.monotonicMs,
      onProgress: (progress: object) => task.progress?.postMessage(progress),
      readBlob: blobReader(blobFolder, task.tenant ?? ""),
      records,
      intake: createClientIntake(records),
      builtins: builtins ?? true,
      signal: canceled.signal,
      closedRounds: new Set(task.closedRounds),
      noiseKey: task.noiseKey ?? new Uint8Array(0),
      residuals: openResiduals(blobFolder, task.tenant ?? ""),
      served: served.of(task.tenant ?? ""),
    };
    const { operation, bodyType = "json", answerType = "json", config } = task;
    const written = await runOperation({ operation, bodyType, answerType, config }, source, context);
    if (!task.keep) return { type: "done", ...written };
    return { type: "done", body: new TextEncoder().encode(JSON.stringify(storeAnswer(written, blobFolder ?? ""))) };
  } catch (thrown) {
    return failure(thrown);
  } finally {
    records.close();
    // This includes the memory of the intake.
    memory.release(0);
    if (memory.buffer.byteLength > memoryBytes + MEMORY_BYTES_BESIDE) memory = undefined;
    task.progress?.close();
    task.cancel?.close();
  }
}

/** Aggregates blobs that blob-worker.ts cannot aggregate piece by piece. */
function blobsResult(request: BlobAggregation): ComputeResult {
  const records = createClientRecords({ folder: tempFolder ?? tmpdir(), memoryBytes, results });
  try {
    const made = aggregateWholeBlobs(request, {
      folder: blobFolder ?? "",
      records,
      intake: createClientIntake(records),
      readBlob: blobReader(blobFolder, ""),
      monotonicMs: systemClock.monotonicMs,
    });
    return { type: "done", body: new TextEncoder().encode(JSON.stringify(made)) };
  } catch (thrown) {
    return failure(thrown);
  } finally {
    records.close();
  }
}

function expandResult(request: BlobExpansion): ComputeResult {
  try {
    return { type: "done", body: new TextEncoder().encode(JSON.stringify(expandBlob(request, blobFolder ?? ""))) };
  } catch (thrown) {
    return failure(thrown);
  }
}

function serveResult(request: ServeRequest): ComputeResult {
  try {
    const answer = serve(request, models, { digits: loadDigits, readBlob: blobReader(blobFolder, "") });
    return { type: "done", body: new TextEncoder().encode(JSON.stringify(answer)) };
  } catch (thrown) {
    return failure(thrown);
  }
}

function secureResult(work: SecureWork): ComputeResult {
  try {
    return { type: "done", body: doSecureWork(work, blobReader(blobFolder, "")) };
  } catch (thrown) {
    return failure(thrown);
  }
}

function failure(thrown: unknown): ComputeResult {
  if (thrown instanceof BrokenBody)
    return { type: "failed", kind: "MALFORMED_JSON", message: thrown.message, details: undefined, internal: undefined };
  const { kind, message, details, internal, exception } = asTrainerError(thrown, "FUNCTION_ERROR");
  return { type: "failed", kind, message: message.slice(0, MESSAGE_MAX), details, internal, exception };
}

function loadDigits(): Dataset {
  digits ??= parseDigits(readFileSync(new URL("../compute/datasets/digits.txt", import.meta.url), "utf8"));
  return digits;
}

function moved(result: ComputeResult): unknown {
  const transferList = result.type === "done" ? [result.body.buffer] : [];
  return move({ [transferableSymbol]: transferList, [valueSymbol]: result } as unknown as ArrayBuffer);
}
