import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../calls/create.ts";
import { listedModel } from "../../calls/inference/listed-model.ts";
import { countTokens } from "../../calls/tokens/token-counter.ts";
import type { EdgeDeps } from "../../deps.ts";
import type { RecordOf } from "../records/records.ts";
import type { WorkHandler } from "../records/work.ts";
import type { RunBody } from "./bodies.ts";
import { createRunEngine } from "./run-engine.ts";
import { createRunFeed, type RunFeed } from "./run-feed.ts";

/** The runs of one edge: their worker and their event streams. */
export interface EdgeRuns {
  readonly feed: RunFeed;
  /** Aborts the model call of a canceled run if this edge executes it. */
  breakOff(runId: string): void;
  /** Executes a run for the worker. */
  readonly handler: WorkHandler;
}

export function createEdgeRuns(deps: Pick<EdgeDeps, "records" | "clock" | "random" | "logger">, inference: Inference): EdgeRuns {
  const { records, clock, random, logger } = deps;
  const feed = createRunFeed();
  const contextWindow = (model: string, caller: Caller) => contextWindowOf(inference, model, caller);
  const engine = createRunEngine({ inference, records, feed, clock, random, logger, countTokens, contextWindow });
  return {
    feed,
    breakOff: (runId) => engine.breakOff(runId),
    handler: runHandler(engine),
  };
}

/** Runs the engine under the worker's lease. A cancellation at another edge arrives with a renewal of the lease. */
function runHandler(engine: ReturnType<typeof createRunEngine>): WorkHandler {
  return async ({ record, caller }, work) => {
    work.onChange((changed) => {
      const { run } = (changed as RecordOf<RunBody>).body;
      if (run.status === "cancelling") engine.breakOff(run.id);
    });
    await engine.work({ record: record as RecordOf<RunBody>, caller, claim: work.claim, signal: work.signal });
  };
}

/** The smallest context window of the model's deployments, so that the prompt fits every one of them. */
function contextWindowOf({ routing }: Inference, model: string, caller: Caller): number | undefined {
  const windows = routing
    .candidates(model, caller)
    .map((deployment) => deployment.model?.contextWindow ?? listedModel(deployment)?.contextWindow)
    .filter((window) => typeof window === "number");
  return windows.length > 0 ? Math.min(...windows) : undefined;
}
