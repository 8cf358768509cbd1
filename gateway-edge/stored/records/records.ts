import type { RecordKind } from "../../../common/record-kinds.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Page } from "../../schemas/object-list.ts";

/** A stored record of a team. The control plane stores it with its order and owner; only the edge reads `body`. */
export interface RecordOf<Body> {
  readonly id: string;
  readonly kind: RecordKind;
  readonly teamId: string;
  readonly organizationId: string;
  /** The API key that work on the record is billed to. */
  readonly keyId: string;
  /** The thread of a message or run, the run of a step; empty if there is no parent. */
  readonly parentId: string;
  readonly body: Body;
  /** Grows with every commit that writes the record; claims and renewals do not change it. */
  readonly revision: bigint;
  readonly createdAtMs: number;
  /** The record can be claimed from this time on. */
  readonly dueAtMs?: number | undefined;
  readonly claim?: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

/** The team, organization and API key that a record belongs to. */
export interface Owner {
  readonly teamId: string;
  readonly organizationId: string;
  readonly keyId: string;
}

/** A page of a list, optionally below one parent. */
export interface PageQuery extends Page {
  readonly parentId?: string | undefined;
}

/** A record to create. */
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

/** One write of a commit. */
export type RecordWrite =
  | ({ readonly type: "create" } & NewRecord)
  | {
      readonly type: "put";
      readonly kind: RecordKind;
      readonly id: string;
      readonly body: unknown;
      /** If absent, any revision is replaced. */
      readonly expectedRevision?: bigint | undefined;
      /** If absent, no more work is due, and the claim ends. */
      readonly dueAtMs?: number | undefined;
      /** The writer's claim: the one that it holds or, with `expectedRevision`, a new one for an unclaimed record. */
      readonly claim?: string | undefined;
      readonly expiresAtMs?: number | undefined;
      /**
       * Changes only the body; due time, claim and expiry stay. For progress of claimed work (with the claim, so that nothing is written
       * after it is lost), and for a message to the holder of the claim, such as a cancellation, which it reads with its next renewal.
       */
      readonly keepWork?: boolean | undefined;
    }
  | {
      readonly type: "remove";
      readonly kind: RecordKind;
      readonly id: string;
      readonly expectedRevision?: bigint | undefined;
      /** Also removes all descendants: a thread's messages, runs and their steps. */
      readonly withChildren?: boolean | undefined;
    }
  /** Changes nothing: the commit is refused if the claim on the record is lost. For records below claimed work. */
  | { readonly type: "held"; readonly kind: RecordKind; readonly id: string; readonly claim: string };

/** A record that was claimed or renewed. */
export interface Claimed<Body = unknown> {
  readonly record: RecordOf<Body>;
  /** Absent if the API key no longer exists; then the work cannot be billed. */
  readonly caller: Caller | undefined;
}

/** How content is counted for its organization. */
export interface ContentOptions {
  /** The size, if it is known: it is reserved before the content is sent. */
  readonly bytes?: number | undefined;
  /** Counts, but is not refused: results of calls that are paid for. */
  readonly isTemporary?: boolean;
}

/** The port to stored records. Adapters: rpc-records.ts, and memory-records-fixture.ts for tests. records-contract.ts is their contract suite. */
export interface RecordStore {
  /** Undefined if it does not exist or belongs to another team. */
  get<Body>(teamId: string, kind: RecordKind, id: string): Promise<RecordOf<Body> | undefined>;
  /** Throws INVALID_REQUEST if `after` or `before` is not in the list. With `before` alone, the page ends right before it. */
  list<Body>(teamId: string, kind: RecordKind, page: PageQuery): Promise<{ records: RecordOf<Body>[]; hasMore: boolean }>;
  /**
   * Commits all writes, in order, or none. Throws RECORD_CHANGED if an expected revision or claim does not match, NOT_FOUND or
   * ALREADY_EXISTS. Returns the records after the commit; removed records without their body.
   */
  commit(owner: Owner, writes: readonly RecordWrite[]): Promise<RecordOf<unknown>[]>;
  /** Claims due records of these kinds, the longest due first. */
  claim(kinds: readonly RecordKind[], options: { claim: string; leaseMs: number; limit: number }): Promise<Claimed[]>;
  /** Undefined if the claim is lost: another edge has claimed the record, or it was removed. */
  renew<Body>(record: { kind: RecordKind; id: string; claim: string }, leaseMs: number): Promise<Claimed<Body> | undefined>;
  /**
   * Stores the bytes of a record; they become visible with the record. Throws PAYLOAD_TOO_LARGE if the organization's files would exceed
   * its limit, except for temporary parts.
   */
  putContent(
    teamId: string,
    id: string,
    content: AsyncIterable<Uint8Array>,
    options?: ContentOptions,
  ): Promise<{ bytes: number; sha256: string }>;
  /** Undefined if it does not exist or belongs to another team. */
  getContent(teamId: string, id: string, offset?: number): Promise<AsyncIterable<Uint8Array> | undefined>;
}
