import { newId } from "../../../common/ids.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { RecordOf } from "../records/records.ts";
import type { RunBody } from "./bodies.ts";
import { LeasedRun } from "./leased-run.ts";
import type { PromptDeps } from "./model-prompt.ts";
import type { RunFeed } from "./run-feed.ts";
import { RunWork } from "./run-work.ts";

/** What the engine needs to execute runs. */
export interface EngineDeps extends PromptDeps {
  readonly feed: RunFeed;
  readonly logger: Logger;
}

/** A run that this edge has claimed. */
export interface RunLease {
  readonly record: RecordOf<RunBody>;
  /** Absent if the API key no longer exists. */
  readonly caller: Caller | undefined;
  readonly claim: string;
  /** Aborts when the claim is lost or this edge stops. */
  readonly signal: AbortSignal;
}

/** Executes the runs that this edge has claimed. */
export interface RunEngine {
  /** Resolves when the run has ended, waits for its caller, or is claimed by another edge. */
  work(lease: RunLease): Promise<void>;
  /** Aborts the model call of a canceled run if it is executed here. */
  breakOff(runId: string): void;
}

export function createRunEngine(deps: EngineDeps): RunEngine {
  const atWork = new Map<string, RunWork>();
  return {
    async work({ record, caller, claim, signal }) {
      const run = new LeasedRun(deps, { record, claim, signal });
      const stamp = (prefix: string) => ({ id: newId(prefix, deps), nowMs: deps.clock.now() });
      const work = new RunWork({ ...deps, stamp }, { run, caller });
      atWork.set(record.id, work);
      try {
        while (await work.next()) signal.throwIfAborted();
      } catch (thrown) {
        // The run fails now: a retry would fail too, after another paid model call.
        if (!signal.aborted) await work.fail(thrown);
      } finally {
        // The caller may have submitted tool outputs already: then the followers belong to the work that started after this one.
        if (atWork.get(record.id) === work) {
          atWork.delete(record.id);
          deps.feed.end(record.id);
        }
      }
    },
    breakOff: (runId) => atWork.get(runId)?.breakOff(),
  };
}
