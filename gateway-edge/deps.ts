import type { Clock } from "../common/clock.ts";
import type { Logger } from "../common/logger.ts";
import type { Random } from "../common/random.ts";
import type { ControlPlane } from "./access/clients/control-plane.ts";
import type { EdgeConfig } from "./config.ts";
import type { RecordStore } from "./stored/records/records.ts";

/** What every part of the edge may be handed; main.ts assembles it, once. */
export interface EdgeDeps {
  readonly config: EdgeConfig;
  readonly control: ControlPlane;
  /** What teams keep with the gateway. */
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
