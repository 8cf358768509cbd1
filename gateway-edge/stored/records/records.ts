import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Page } from "../../schemas/object-list.ts";

/** What a team keeps with the gateway. The control plane keeps order and ownership; the meaning of `body` is ours. */
export interface RecordOf<Body> {
  readonly id: string;
  readonly kind: RecordKind;
  readonly teamId: string;
  readonly organizationId: string;
  /** The API key under which work on it is done and paid. */
  readonly keyId: string;
  /** A thread's messages and runs, a run's steps; empty: none. */
  readonly parentId: string;
  readonly body: Body;
  /** Grows with every commit that writes it; claims and renewals leave it. */
  readonly revision: bigint;
  readonly createdAtMs: number;
  /** Work is wanted from this time on. */
  readonly dueAtMs?: number | undefined;
  readonly claim?: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

export type RecordKind = "assistant" | "thread" | "message" | "run" | "run_step" | "response" | "file" | "batch" | "batch_part";

export interface Owner {
  readonly teamId: string;
  readonly organizationId: string;
  readonly keyId: string;
}

export interface PageQuery extends Page {
  readonly parentId?: string | undefined;
}

export interface NewRecord {
  readonly id: string;
  readonly kind: RecordKind;
  readonly parentId?: string | undefined;
  readonly body: unknown;
  readonly createdAtMs: number;
  readonly dueAtMs?: number | undefined;
  readonly claim?: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

export type RecordWrite =
  | ({ readonly type: "create" } & NewRecord)
  | {
      readonly type: "put";
      readonly kind: RecordKind;
      readonly id: string;
      readonly body: unknown;
      /** Absent: whatever is there is replaced. */
      readonly expectedRevision?: bigint | undefined;
      /** Absent: no work is wanted any more, and a claim on it ends. */
      readonly dueAtMs?: number | undefined;
      /** One's own: the one under which the work is held, or, with `expectedRevision`, a new one for work that nobody holds. */
      readonly claim?: string | undefined;
      readonly expiresAtMs?: number | undefined;
      /**
       * Only the body changes; due time, claim and expiry stay. For progress of one's own work (name the claim, and nothing is written
       * once it is lost) and for word to whoever holds it: a cancellation, which he reads with his next renewal.
       */
      readonly keepWork?: boolean | undefined;
    }
  | {
      readonly type: "remove";
      readonly kind: RecordKind;
      readonly id: string;
      readonly expectedRevision?: bigint | undefined;
      /** Also everything below it: a thread's messages, runs and their steps. */
      readonly withChildren?: boolean | undefined;
    };

export interface Claimed<Body = unknown> {
  readonly record: RecordOf<Body>;
  /** Absent: the key is gone, and the work cannot be paid. */
  readonly caller: Caller | undefined;
}

/** The port. Two adapters: rpc-records.ts, and memory-records.ts for tests; records-contract.ts runs against both. */
export interface RecordStore {
  /** Undefined: there is none, or it is another team's. */
  get<Body>(teamId: string, kind: RecordKind, id: string): Promise<RecordOf<Body> | undefined>;
  /** `after` and `before` that are not in the list are INVALID_REQUEST. With `before` alone: the page that ends right before it. */
  list<Body>(teamId: string, kind: RecordKind, page: PageQuery): Promise<{ records: RecordOf<Body>[]; hasMore: boolean }>;
  /**
   * All or none, in order; throws RECORD_CHANGED when an expected revision or claim does not hold any more, NOT_FOUND, ALREADY_EXISTS.
   * The records after it; removed ones as they were, but with no body.
   */
  commit(owner: Owner, writes: readonly RecordWrite[]): Promise<RecordOf<unknown>[]>;
  claim(kinds: readonly RecordKind[], options: { claim: string; leaseMs: number; limit: number }): Promise<Claimed[]>;
  /** Undefined: the claim is lost; somebody else has the work, or it is gone. */
  renew<Body>(record: { kind: RecordKind; id: string; claim: string }, leaseMs: number): Promise<Claimed<Body> | undefined>;
  putContent(teamId: string, id: string, content: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }>;
  /** Undefined: there is none, or it is another team's. */
  getContent(teamId: string, id: string, offset?: number): Promise<AsyncIterable<Uint8Array> | undefined>;
}
