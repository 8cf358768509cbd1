import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Claimed, RecordKind, RecordOf } from "./records.ts";

/**
 * Does one piece of work. It ends the work itself, with a commit under `work.claim` that wants no more of it; one that throws, or
 * returns without, leaves the work to whoever asks when the lease has run out.
 */
export type Handler = (claimed: Claimed, work: Work) => Promise<void>;

/** What a handler has of its claim. */
export interface Work {
  /** To be named in every commit: once it is lost nothing is written any more. */
  readonly claim: string;
  /** Aborted when the claim is lost, or cannot be renewed, or this edge stops. */
  readonly signal: AbortSignal;
  /** The record as the last renewal saw it. */
  latest(): RecordOf<unknown>;
  /** Whose key it is, as of the last renewal; absent: the key is gone, and nothing more can be paid. */
  caller(): Caller | undefined;
  /** Calls back when a renewal sees another revision: somebody wrote, perhaps the handler itself. */
  onChange(listener: (record: RecordOf<unknown>) => void): void;
}

export type WorkHandlers = Readonly<Partial<Record<RecordKind, Handler>>>;
