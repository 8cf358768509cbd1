import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { systemClock } from "./clock.ts";

/** Messages of the supervisor to its children. */
export interface SupervisorMessage {
  /** All processes of the platform have started. */
  readonly type: "all-ready";
}

const LOOK_MS = 500;
/** A process that worked for more of that time has begun its service, and is not stopped for this. */
const BUSY_SHARE = 0.1;

/**
 * Collects what the start of a process has left when its supervisor reports that all processes run: V8 would keep it until the heap has grown, which in an
 * idle process may take days. It stops the process for 20 to 100 ms, so it happens once, and only in one that has no work yet.
 */
export function collectStartGarbage(): void {
  if (!process.send) return;
  process.on("message", (message) => {
    if ((message as SupervisorMessage).type === "all-ready") void collectIfIdle();
  });
}

async function collectIfIdle(): Promise<void> {
  const before = performance.eventLoopUtilization();
  await systemClock.sleep(LOOK_MS);
  if (performance.eventLoopUtilization(before).utilization > BUSY_SHARE) return;
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  setFlagsFromString("--no-expose-gc");
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
