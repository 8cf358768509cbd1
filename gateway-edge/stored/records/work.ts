import type { WorkKind } from "../../../common/record-kinds.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Claimed, RecordOf } from "./records.ts";

/**
 * Executes the work on one claimed record. The handler ends the work itself, with a commit under `work.claim` without a due time. If it
 * throws, or returns without such a commit, the work is claimed again when the lease expires.
 */
export type WorkHandler = (claimed: Claimed, work: WorkLease) => Promise<void>;

/** A handler's view of its claim. */
export interface WorkLease {
  /** Must be in every commit of the handler, so that nothing is written after the claim is lost. */
  readonly claim: string;
  /** Aborts when the claim is lost or cannot be renewed, or when this edge stops. */
  readonly signal: AbortSignal;
  /** The record as of the last renewal. */
  latest(): RecordOf<unknown>;
  /** The caller as of the last renewal; undefined if the API key no longer exists, so that nothing more can be billed. */
  caller(): Caller | undefined;
  /** Calls `listener` when a renewal returns another revision; the handler's own writes count too. */
  onChange(listener: (record: RecordOf<unknown>) => void): void;
}

/** The handlers of an edge by kind of record. */
export type WorkHandlers = Readonly<Partial<Record<WorkKind, WorkHandler>>>;
