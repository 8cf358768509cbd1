import { type Clock, pause } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { ReportEdgeRequest } from "../../proto/gen/tributary/system/v1/system.ts";
import type { ControlPlane } from "./clients/control-plane.ts";

const EVERY_MS = 3000;
const DEADLINE_MS = 2000;

/** What the reports need. */
export interface ReportDeps {
  readonly system: Pick<ControlPlane["system"], "reportEdge">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The current figures of this edge. */
  read(): ReportEdgeRequest;
}

/** Reports this edge's figures to the control plane every three seconds until it is stopped. A lost report is not sent again. */
export function startReports({ system, clock, logger, read }: ReportDeps): { stop(): void } {
  const stopping = new AbortController();
  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        await system.reportEdge(read(), { deadlineMs: DEADLINE_MS });
      } catch (error) {
        logger.debug({ error: String(error) }, "this edge's report could not be sent to the control plane");
      }
      await pause(clock, EVERY_MS, stopping.signal);
    }
  };
  void run();
  return { stop: () => stopping.abort() };
}
