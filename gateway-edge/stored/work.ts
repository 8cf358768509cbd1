import type { Inference } from "../calls/create.ts";
import type { EdgeDeps } from "../deps.ts";
import type { EdgeRuns } from "./assistants/edge-runs.ts";
import { batchHandler } from "./batches/batch-work.ts";
import type { WorkHandlers } from "./records/work.ts";
import { createWorker, type Worker } from "./records/worker.ts";

/** How many pieces of a kind one edge does at once; each batch makes several calls at a time. */
const CONCURRENCY = { batch: 4, run: 512 };

/** What its routes share with an edge's work. */
export interface WorkParts {
  readonly runs: EdgeRuns;
}

/** Everything an edge does that no client waits for, by the kind of the record that wants it. */
function workHandlers(deps: EdgeDeps, inference: Inference, { runs }: WorkParts): WorkHandlers {
  const { batchConcurrency: concurrency, jsonBodyBytesMax: lineBytesMax } = deps.config;
  return { run: runs.handler, batch: batchHandler({ ...deps, inference, concurrency, lineBytesMax }) };
}

export function startWork(deps: EdgeDeps, inference: Inference, parts: WorkParts): Worker {
  const { records, clock, random, logger } = deps;
  const { workLeaseMs: leaseMs } = deps.config;
  const times = { leaseMs, renewMs: Math.min(2000, leaseMs / 5) };
  return createWorker({
    records,
    clock,
    random,
    logger,
    handlers: workHandlers(deps, inference, parts),
    concurrency: CONCURRENCY,
    ...times,
  });
}
