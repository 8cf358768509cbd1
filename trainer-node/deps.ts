import type { Clock } from "../common/clock.ts";
import type { Logger } from "../common/logger.ts";
import type { Random } from "../common/random.ts";
import type { Properties } from "../common/training/selection-settings.ts";
import type { Manifest } from "../common/training/trained-manifest.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import type { FunctionName } from "./functions/registry.ts";
import type { UsedNonces } from "./http/signed-call.ts";
import type { IdempotencyStore } from "./idempotency/idempotency-store.ts";
import type { JobStore } from "./jobs/job-store.ts";
import type { Metrics } from "./metrics.ts";
import type { ByteBudget } from "./pool/byte-budget.ts";
import type { ComputePool } from "./pool/pool.ts";
import type { ClosedRounds } from "./rounds/closed-rounds.ts";

/** Dependencies of the participant API. serve.ts assembles them for a process, tests for themselves. */
export interface TrainerDeps {
  readonly pool: ComputePool;
  /** Served models have threads of their own, so that a training of hours does not delay their calls. */
  readonly servingPool: ComputePool;
  readonly budget: ByteBudget;
  readonly jobs?: JobStore | undefined;
  readonly rounds: ClosedRounds;
  readonly idempotencyStore: IdempotencyStore;
  /** Nonces of signed calls that were accepted. */
  readonly nonces: UsedNonces;
  /** Operations that the operator's module registered functions for, once the threads have loaded it. */
  readonly registered: () => readonly FunctionName[];
  /** If absent, this node stores no blobs. */
  readonly blobs?: BlobStore | undefined;
  /** Fetches the parameters of a served model unless this node has them. */
  readonly fetchParameters: (manifest: Manifest) => Promise<void>;
  /** Calls the serve function of a federation's node with a text, and returns its answer. */
  readonly callFunction: (
    manifest: Manifest,
    call: { readonly input: string; readonly config: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ) => Promise<string>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly settings: TrainerSettings;
  /**
   * "warming" until every thread has loaded its code. After a signal to stop: "leaving" while the node still accepts work but is not ready any
   * more, then "draining", which refuses new work.
   */
  readonly state: () => "warming" | "ready" | "leaving" | "draining";
  /** Aborted when a stopping node waits no longer for running calls. They end with an error after which callers use another node. */
  readonly cut?: AbortSignal | undefined;
}

/** The settings that the participant API reads. */
export interface TrainerSettings {
  readonly version: string;
  /** Who may call where no token is set. */
  readonly auth: "loopback" | "none";
  /** If set, every call must carry it, but for calls of this machine where `anonymous` is set. */
  readonly token?: string | undefined;
  /** Callers of this machine without the token are a tenant of their own. */
  readonly anonymous?: boolean | undefined;
  /** Names beside loopback ones that `Host` may have where neither token nor secret is set. */
  readonly hostNames?: readonly string[] | undefined;
  /** If set, training calls must be signed with it, and without a token all other calls but `/health` and `/ready`, too. */
  readonly secret?: string | undefined;
  /** Who gets the messages of functions' exceptions; others get the type. */
  readonly exceptions?: "owner" | "all" | undefined;
  /** False: operations without a registered function are answered with 501. */
  readonly builtins?: boolean | undefined;
  /** The registered train function applies the proximal term of `config.mu`. */
  readonly proximal?: boolean | undefined;
  readonly bodyBytesMax: number;
  /** Most bytes of a body that is processed while it arrives; `bodyBytesMax` if absent. */
  readonly streamBytesMax?: number | undefined;
  /** How long a sender may pause within a body. */
  readonly bodyIdleMs?: number | undefined;
  readonly bytesBudget: number;
  readonly queueMax: number;
  readonly threads: number;
  readonly taskTimeoutMs: number;
  readonly hasDefaultDataset: boolean;
  /** What the node says about itself. */
  readonly properties?: Properties | undefined;
}
