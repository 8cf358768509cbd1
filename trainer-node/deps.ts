import type { Clock } from "../common/clock.ts";
import type { Logger } from "../common/logger.ts";
import type { Random } from "../common/random.ts";
import type { Manifest } from "../common/trained-manifest.ts";
import type { FunctionName } from "./functions/registry.ts";
import type { UsedNonces } from "./http/signed-call.ts";
import type { KeptAnswers } from "./idempotency/kept-answers.ts";
import type { JobStore } from "./jobs/job-store.ts";
import type { Metrics } from "./metrics.ts";
import type { ByteBudget } from "./pool/byte-budget.ts";
import type { ComputePool } from "./pool/pool.ts";
import type { ClosedRounds } from "./rounds/closed-rounds.ts";

/** What the HTTP side needs; assembled by main.ts, and by tests. */
export interface TrainerDeps {
  readonly pool: ComputePool;
  /** Threads of their own for models that are served: a training that takes hours must not keep calls waiting. */
  readonly servingPool: ComputePool;
  readonly budget: ByteBudget;
  readonly jobs?: JobStore | undefined;
  readonly rounds: ClosedRounds;
  readonly keptAnswers: KeptAnswers;
  /** Of signed calls. */
  readonly nonces: UsedNonces;
  /** What the operator's module registered, once the threads have loaded it. */
  readonly registered: () => readonly FunctionName[];
  /** Makes sure that the parameters of a served model are here. */
  readonly fetchParameters: (manifest: Manifest) => Promise<void>;
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
  /** Without a token. */
  readonly auth: "loopback" | "none";
  /** Where set, every call must carry it. */
  readonly token?: string | undefined;
  /** Where set, every call must be signed with it. */
  readonly secret?: string | undefined;
  /** False: what nobody registered is answered 501. */
  readonly builtins?: boolean | undefined;
  readonly bodyBytesMax: number;
  /** Of calls whose body is worked on while it arrives; as `bodyBytesMax` where absent. */
  readonly streamBytesMax?: number | undefined;
  /** How long a body may stand still. */
  readonly bodyIdleMs?: number | undefined;
  /** Where blobs are kept, and how many bytes of them; there are none where it is absent. */
  readonly blobs?: { readonly folder: string; readonly bytesMax: number } | undefined;
  readonly bytesBudget: number;
  readonly queueMax: number;
  readonly threads: number;
  readonly taskTimeoutMs: number;
  readonly hasDefaultDataset: boolean;
}
