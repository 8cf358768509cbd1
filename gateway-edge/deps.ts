import type { Clock } from "../common/clock.ts";
import type { Logger } from "../common/logger.ts";
import type { Random } from "../common/random.ts";
import type { ControlPlane } from "./access/clients/control-plane.ts";
import type { OpenCalls } from "./calls/open-calls.ts";
import type { Tracing } from "./calls/tracing/tracing.ts";
import type { EdgeConfig } from "./config.ts";
import type { RecordStore } from "./stored/records/records.ts";

/** The dependencies of the edge's parts; main.ts assembles them once. */
export interface EdgeDeps {
  readonly config: EdgeConfig;
  readonly control: ControlPlane;
  /** Connects to one of several control planes; undefined: its address must not be used. Absent: there is one. */
  readonly connectPlane?: ((address: string) => ControlPlane | undefined) | undefined;
  /** Assistants, threads, files, batches and responses that teams store. */
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly openCalls: OpenCalls;
  /** Absent: calls are not traced. */
  readonly tracing?: Tracing | undefined;
}
