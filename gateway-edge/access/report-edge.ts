import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { ReportEdgeRequest } from "../../proto/gen/tributary/system/v1/system.ts";
import type { ControlPlane } from "./clients/control-plane.ts";

const EVERY_MS = 3000;
const DEADLINE_MS = 2000;

export interface ReportDeps {
  readonly system: Pick<ControlPlane["system"], "reportEdge">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How this edge is now. */
  read(): ReportEdgeRequest;
}

/** Tells the control plane how this edge is, until it is stopped; a report that is lost is followed by the next. */
export function startReports({ system, clock, logger, read }: ReportDeps): { stop(): void } {
  const stopping = new AbortController();
  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        await system.reportEdge(read(), { deadlineMs: DEADLINE_MS });
      } catch (error) {
        logger.debug({ error: String(error) }, "the control plane could not be told how this edge is");
      }
      await clock.sleep(EVERY_MS, stopping.signal).catch(() => {});
    }
  };
  void run();
  return { stop: () => stopping.abort() };
}
