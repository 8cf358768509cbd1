import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { requireRecord } from "../records/own-record.ts";
import type { Owner, RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import type { ThreadBody } from "./bodies.ts";
import { wrongState } from "./run-states.ts";

/** Of concurrent writers on one thread, one succeeds in each attempt. */
const ATTEMPTS = 40;
const BACK_OFF_MS = 5;
const BACK_OFF_MS_MAX = 100;

/** The store of threads and runs, and a clock for retries. */
export interface StoreDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
}

export function requireThread(deps: StoreDeps, caller: Caller, id: string): Promise<RecordOf<ThreadBody>> {
  return requireRecord<ThreadBody>(deps, caller, { kind: "thread", id });
}

/**
 * Calls `decide` and commits its writes; repeats both if another writer changed a record meanwhile. `decide` must name the records that it
 * read in its writes, with the revisions that it saw.
 */
export async function writeAgainstChange<Result>(
  deps: StoreDeps,
  owner: Owner,
  decide: () => Promise<{ writes: readonly RecordWrite[]; result: Result }>,
): Promise<{ result: Result; written: RecordOf<unknown>[] }> {
  for (let attempt = 1; ; attempt++) {
    const { writes, result } = await decide();
    try {
      return { result, written: await deps.records.commit(owner, writes) };
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "RECORD_CHANGED" || attempt === ATTEMPTS) throw thrown;
      await deps.clock.sleep(Math.min(BACK_OFF_MS * attempt, BACK_OFF_MS_MAX));
    }
  }
}

/** Writes the thread itself with every change to it, so that of two concurrent changes one sees the other. */
export function putThread({ id, revision }: RecordOf<ThreadBody>, body: ThreadBody): RecordWrite {
  return { type: "put", kind: "thread", id, body, expectedRevision: revision };
}

/** Refuses a change of a thread that has an active run. */
export function requireIdle({ id, body }: RecordOf<ThreadBody>, doing: "message" | "run" | "removal"): void {
  if (body.activeRunId === null) return;
  if (doing === "run") throw wrongState(`Thread ${id} already has an active run ${body.activeRunId}.`, "thread_id");
  const what = doing === "message" ? "add messages to" : "delete messages of";
  throw wrongState(`Can't ${what} ${id} while a run ${body.activeRunId} is active.`, "thread_id");
}
