import type { Clock } from "../common/clock.ts";
import type { Logger } from "../common/logger.ts";
import type { Random } from "../common/random.ts";
import type { Metrics } from "./metrics.ts";
import type { ByteBudget } from "./pool/byte-budget.ts";
import type { ComputePool } from "./pool/pool.ts";

/** What the HTTP side needs; assembled by main.ts, and by tests. */
export interface TrainerDeps {
  readonly pool: ComputePool;
  readonly budget: ByteBudget;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly settings: TrainerSettings;
  /** "warming" until every thread has its code; "draining" once the node was told to stop. */
  readonly state: () => "warming" | "ready" | "draining";
}

export interface TrainerSettings {
  readonly version: string;
  readonly auth: "loopback" | "none";
  readonly bodyBytesMax: number;
  readonly bytesBudget: number;
  readonly queueMax: number;
  readonly threads: number;
  readonly taskTimeoutMs: number;
  readonly hasDefaultDataset: boolean;
}
