import type { Clock } from "../../../common/clock.ts";
import { newId } from "../../../common/ids.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../calls/create.ts";
import type { RecordOf, RecordStore } from "../records/records.ts";
import type { RunBody } from "./bodies.ts";
import { HeldRun } from "./held-run.ts";
import type { PromptDeps } from "./model-prompt.ts";
import type { RunFeed } from "./run-feed.ts";
import { RunWork } from "./run-work.ts";

export interface EngineDeps extends PromptDeps {
  readonly inference: Pick<Inference, "run">;
  readonly records: RecordStore;
  readonly feed: RunFeed;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RunHold {
  readonly record: RecordOf<RunBody>;
  /** Absent: the key is gone. */
  readonly caller: Caller | undefined;
  readonly claim: string;
  /** Aborted when the claim is lost or this edge stops. */
  readonly signal: AbortSignal;
}

/** Works on runs that this edge holds. */
export interface RunEngine {
  /** Until the run has ended, waits for its caller, or is not this edge's any more. */
  work(hold: RunHold): Promise<void>;
  /** Somebody cancelled a run; where it is worked on here, its model is broken off at once. */
  cancelled(runId: string): void;
}

export function createRunEngine(deps: EngineDeps): RunEngine {
  const atWork = new Map<string, RunWork>();
  return {
    async work({ record, caller, claim, signal }) {
      const run = new HeldRun(deps, { record, claim, signal });
      const born = (prefix: string) => ({ id: newId(prefix, deps), nowMs: deps.clock.now() });
      const work = new RunWork({ ...deps, born }, { run, caller });
      atWork.set(record.id, work);
      try {
        while (await work.next()) signal.throwIfAborted();
      } catch (thrown) {
        // What cannot be written will not be written the next time either, and every time the model would be called again.
        if (!signal.aborted) await work.fail(thrown);
      } finally {
        // The caller may have given tool outputs already: then a later work on the run has those who follow it.
        if (atWork.get(record.id) === work) {
          atWork.delete(record.id);
          deps.feed.end(record.id);
        }
      }
    },
    cancelled: (runId) => atWork.get(runId)?.breakOff(),
  };
}
