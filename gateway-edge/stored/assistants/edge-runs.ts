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

/** The runs of one edge: who works on them, and who hears of them. */
export interface EdgeRuns {
  readonly feed: RunFeed;
  /** Breaks off the model of a run that was cancelled, where it is called here. */
  cancelled(runId: string): void;
  /** For the worker. */
  readonly handler: WorkHandler;
}

export function createEdgeRuns(deps: Pick<EdgeDeps, "records" | "clock" | "random" | "logger">, inference: Inference): EdgeRuns {
  const { records, clock, random, logger } = deps;
  const feed = createRunFeed();
  const contextWindow = (model: string, caller: Caller) => contextWindowOf(inference, model, caller);
  const engine = createRunEngine({ inference, records, feed, clock, random, logger, countTokens, contextWindow });
  return {
    feed,
    cancelled: (runId) => engine.cancelled(runId),
    handler: runHandler(engine),
  };
}

/** A run's work as the worker hands it over; a cancellation made at another edge comes with a renewal. */
function runHandler(engine: ReturnType<typeof createRunEngine>): WorkHandler {
  return async ({ record, caller }, work) => {
    work.onChange((changed) => {
      const { run } = (changed as RecordOf<RunBody>).body;
      if (run.status === "cancelling") engine.cancelled(run.id);
    });
    await engine.work({ record: record as RecordOf<RunBody>, caller, claim: work.claim, signal: work.signal });
  };
}

/** Of the smallest model behind a name: whichever answers, the prompt fits. */
function contextWindowOf({ routing }: Inference, model: string, caller: Caller): number | undefined {
  const windows = routing
    .candidates(model, caller)
    .map((deployment) => deployment.model?.contextWindow ?? listedModel(deployment)?.contextWindow)
    .filter((window) => typeof window === "number");
  return windows.length > 0 ? Math.min(...windows) : undefined;
}
