import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { Store } from "../stores/store.ts";
import type { Parts } from "./parts.ts";

/** What moves old records to files works with. */
export interface ArchiverDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "sleep">;
  readonly logger: Pick<Logger, "info">;
  readonly parts: Parts;
}

/** Between two transactions that remove archived records, for other work of the process. Transactions that wait run before the next one anyway: stores take them in order. */
export const PAUSE_MS = 2;
