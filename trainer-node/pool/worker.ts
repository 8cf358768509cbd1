import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { move, transferableSymbol, valueSymbol, workerData } from "piscina";
import { systemClock } from "../../common/clock.ts";
import { blobReader } from "../blobs/blob-reader.ts";
import type { Dataset } from "../compute/datasets/dataset.ts";
import { parseDigits } from "../compute/datasets/digits.ts";
import { createKernels } from "../compute/kernels/create-kernels.ts";
import { asTrainerError } from "../errors.ts";
import { createClientIntake } from "../operations/client-intake.ts";
import { runOperation } from "../operations/run.ts";
import { createClientRecords } from "../records/client-records.ts";
import { joinedSource, wholeSource } from "../stream/byte-source.ts";
import { BrokenBody, ringSource } from "../stream/ring.ts";
import type { ComputeResult, ComputeTask, WorkerData } from "./messages.ts";

const RECORD_BYTES_IN_MEMORY = 64 * 1024 * 1024;

const { fallback, tempFolder, recordBytesInMemory, blobFolder, datasetUris } = workerData as WorkerData;
let digits: Dataset | undefined;

/** The one function the pool calls: everything that takes time on big numbers, from parsing the body to writing the answer, is in here. */
export function runTask(task: ComputeTask): unknown {
  if (task.type === "warm-up") {
    loadDigits();
    createKernels(0);
    return moved({ type: "done", body: new Uint8Array(0) });
  }
  return moved(callResult(task));
}

function callResult(task: Extract<ComputeTask, { type: "call" }>): ComputeResult {
  const records = createClientRecords({ folder: tempFolder ?? tmpdir(), memoryBytes: recordBytesInMemory ?? RECORD_BYTES_IN_MEMORY });
  try {
    const source = joinedSource(wholeSource(task.body), ...(task.ring ? [ringSource(task.ring)] : []));
    const context = {
      data: { digits: loadDigits, fallback, uris: datasetUris ?? [] },
      seed: task.seed,
      monotonicMs: systemClock.monotonicMs,
      onProgress: (progress: object) => task.progress?.postMessage(progress),
      readBlob: blobReader(blobFolder),
      records,
      intake: createClientIntake(records),
    };
    const { operation, bodyType = "json", answerType = "json", config } = task;
    return { type: "done", ...runOperation({ operation, bodyType, answerType, config }, source, context) };
  } catch (thrown) {
    if (thrown instanceof BrokenBody)
      return { type: "failed", kind: "MALFORMED_JSON", message: thrown.message, details: undefined, internal: undefined };
    const { kind, message, details, internal } = asTrainerError(thrown, "FUNCTION_ERROR");
    return { type: "failed", kind, message, details, internal };
  } finally {
    records.close();
    task.progress?.close();
  }
}

function loadDigits(): Dataset {
  digits ??= parseDigits(readFileSync(new URL("../compute/datasets/digits.txt", import.meta.url), "utf8"));
  return digits;
}

function moved(result: ComputeResult): unknown {
  const transferList = result.type === "done" ? [result.body.buffer] : [];
  return move({ [transferableSymbol]: transferList, [valueSymbol]: result } as unknown as ArrayBuffer);
}
