import type { WorkKind } from "../../common/record-kinds.ts";
import type { Inference } from "../calls/create.ts";
import type { EdgeDeps } from "../deps.ts";
import type { EdgeRuns } from "./assistants/edge-runs.ts";
import { batchHandler } from "./batches/batch-work.ts";
import type { WorkHandlers } from "./records/work.ts";
import { createWorker, type Worker } from "./records/worker.ts";
import { backgroundHandler } from "./responses/background.ts";
import type { ResponseFeed } from "./responses/response-feed.ts";
import { indexHandler } from "./vector-stores/index-work.ts";

/** How many records of a kind one edge works on at once; each batch makes several concurrent calls. */
const CONCURRENCY: Readonly<Record<WorkKind, number>> = { batch: 4, run: 512, vector_store_file: 4, response: 256 };

/** What the worker shares with the routes. */
export interface WorkParts {
  readonly runs: EdgeRuns;
  readonly feed: ResponseFeed;
  /** Absent: background work never waits for calls of clients. */
  readonly overload?: { figures(): { readonly isOverloaded: boolean } };
}

/** The background work of an edge, by kind of record. */
function workHandlers(deps: EdgeDeps, inference: Inference, { runs, feed, overload }: WorkParts): Required<WorkHandlers> {
  const { batchConcurrency: concurrency, jsonBodyBytesMax: bodyBytesMax } = deps.config;
  return {
    run: runs.handler,
    batch: batchHandler({
      ...deps,
      inference,
      concurrency,
      lineBytesMax: bodyBytesMax,
      mustWait: () => overload?.figures().isOverloaded === true,
    }),
    vector_store_file: indexHandler({ ...deps, inference }),
    response: backgroundHandler({ ...deps, inference, feed, bodyBytesMax }),
  };
}

export function startWork(deps: EdgeDeps, inference: Inference, parts: WorkParts): Worker {
  const { records, clock, random, logger } = deps;
  const { workLeaseMs: leaseMs } = deps.config;
  const times = { leaseMs, renewMs: Math.min(2000, leaseMs / 5) };
  const worker = createWorker({
    records,
    clock,
    random,
    logger,
    handlers: workHandlers(deps, inference, parts),
    concurrency: CONCURRENCY,
    // A renewal writes and reads the whole record, and responses have all their input. One may fail, and the next is still in time.
    renewals: { response: Math.min(4000, leaseMs / 4) },
    ...times,
  });
  inference.onCallerChange((isChanged) => worker.refreshCallers(isChanged));
  return worker;
}
