import type { Clock } from "../../../common/clock.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { requireRecord } from "../records/own-record.ts";
import type { RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import type { ThreadBody } from "./bodies.ts";
import { wrongState } from "./run-states.ts";

/** The store of threads and runs, and a clock for retries. */
export interface StoreDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
}

export function requireThread(deps: StoreDeps, caller: Caller, id: string): Promise<RecordOf<ThreadBody>> {
  return requireRecord<ThreadBody>(deps, caller, { kind: "thread", id });
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
