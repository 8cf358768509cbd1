import { readFileSync } from "node:fs";
import { move, transferableSymbol, valueSymbol, workerData } from "piscina";
import { systemClock } from "../../common/clock.ts";
import type { Dataset } from "../compute/datasets/dataset.ts";
import { parseDigits } from "../compute/datasets/digits.ts";
import { asTrainerError } from "../errors.ts";
import { runOperation } from "../operations/run.ts";
import type { ComputeResult, ComputeTask, WorkerData } from "./messages.ts";

const { fallback } = workerData as WorkerData;
let digits: Dataset | undefined;

/** The one function the pool calls: everything that takes time on big numbers, from parsing the body to writing the answer, is in here. */
export function runTask(task: ComputeTask): unknown {
  if (task.type === "warm-up") {
    loadDigits();
    return moved({ type: "done", body: new Uint8Array(0) });
  }
  return moved(callResult(task));
}

function callResult(task: Extract<ComputeTask, { type: "call" }>): ComputeResult {
  try {
    const context = { data: { digits: loadDigits, fallback }, seed: task.seed, monotonicMs: systemClock.monotonicMs };
    return { type: "done", body: runOperation(task.operation, task.body, context) };
  } catch (thrown) {
    const { kind, message, details, internal } = asTrainerError(thrown, "FUNCTION_ERROR");
    return { type: "failed", kind, message, details, internal };
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
