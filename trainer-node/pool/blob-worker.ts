import { workerData } from "piscina";
import { followFile } from "../blobs/followed-file.ts";
import { createResultArrays } from "../compute/clients/result-arrays.ts";
import { createKernelMemory } from "../compute/kernels/kernel-memory.ts";
import { InputProblem } from "../compute/problem.ts";
import { aggregateBlobs } from "../operations/aggregate-blobs.ts";
import type { ComputeResult, ComputeTask, FollowTask, WorkerData } from "./messages.ts";

/** Bytes of all clients together in memory at a time. */
const WINDOW_BYTES = 8 * 1024 * 1024;

const { blobFolder = "" } = workerData as WorkerData;
const memory = createKernelMemory();
const results = createResultArrays(WINDOW_BYTES);

/**
 * A coordinator's thread. It loads only the code for aggregating blobs piece by piece, because the code of a whole node takes more memory
 * than this work. That code is loaded for requests that cannot be done piece by piece.
 */
export async function runTask(task: ComputeTask | FollowTask): Promise<unknown> {
  if (task.type === "follow-file") return done(await followFile(task.file));
  const made = task.type === "aggregate-blobs" ? inPieces(task.request) : undefined;
  return made ?? (await import("./worker.ts")).runTask(task);
}

const done = (made: object): ComputeResult => ({ type: "done", body: new TextEncoder().encode(JSON.stringify(made)) });

function inPieces(request: Extract<ComputeTask, { type: "aggregate-blobs" }>["request"]): ComputeResult | undefined {
  try {
    const made = aggregateBlobs(request, { folder: blobFolder, memory, results, windowBytes: WINDOW_BYTES });
    return made && done(made);
  } catch (thrown) {
    if (!(thrown instanceof InputProblem)) throw thrown;
    return { type: "failed", kind: thrown.kind, message: thrown.message, details: thrown.details, internal: undefined };
  } finally {
    memory.release(0);
  }
}
