import { createHash } from "node:crypto";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { RecordKind } from "../../../common/record-kinds.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { ownerOf } from "./own-record.ts";
import type { Claimed, Owner, PageQuery, RecordOf, RecordStore, RecordWrite } from "./records.ts";

type StoredRecord = RecordOf<string> & { readonly sequence: number };
type Put = Extract<RecordWrite, { type: "put" }>;

/** A record store in memory, for tests. */
export function createMemoryRecords(deps: {
  clock: Pick<Clock, "now">;
  callerOf?: (keyId: string) => Caller | undefined;
}): RecordStore & { readonly contents: ReadonlyMap<string, Buffer> } {
  return new MemoryRecords(deps);
}

class MemoryRecords implements RecordStore {
  readonly contents = new Map<string, Buffer>();
  readonly #clock: Pick<Clock, "now">;
  readonly #callerOf: (keyId: string) => Caller | undefined;
  #records: ReadonlyMap<string, StoredRecord> = new Map();
  /** The last removed record of each id: lists go on after it. */
  readonly #removed = new Map<string, StoredRecord>();
  #sequence = 0;

  constructor({ clock, callerOf = () => undefined }: Parameters<typeof createMemoryRecords>[0]) {
    this.#clock = clock;
    this.#callerOf = callerOf;
  }

  async get<Body>(teamId: string, kind: RecordKind, id: string): Promise<RecordOf<Body> | undefined> {
    const record = this.#records.get(id);
    return record?.teamId === teamId && record.kind === kind ? parsed<Body>(record) : undefined;
  }

  async list<Body>(teamId: string, kind: RecordKind, page: PageQuery): Promise<{ records: RecordOf<Body>[]; hasMore: boolean }> {
    const isListed = (record: StoredRecord) =>
      record.teamId === teamId && record.kind === kind && record.parentId === (page.parentId ?? "");
    const sign = page.order === "desc" ? -1 : 1;
    const placeOf = (param: "after" | "before") => {
      const id = page[param];
      const record = [this.#records, this.#removed].map((known) => known.get(id ?? "")).find((known) => known && isListed(known));
      if (id !== undefined && !record) throw new AppError("INVALID_REQUEST", `There is no ${id} in this list.`, { param });
      return record && record.sequence * sign;
    };
    const [after = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY] = [placeOf("after"), placeOf("before")];
    const window = [...this.#records.values()]
      .filter((record) => isListed(record) && record.sequence * sign > after && record.sequence * sign < before)
      .sort((left, right) => (left.sequence - right.sequence) * sign);
    const isBackwards = page.before !== undefined && page.after === undefined;
    const records = isBackwards ? window.slice(-page.limit) : window.slice(0, page.limit);
    return { records: records.map((record) => parsed<Body>(record)), hasMore: window.length > records.length };
  }

  async commit(owner: Owner, writes: readonly RecordWrite[]): Promise<RecordOf<unknown>[]> {
    const draft = new Map(this.#records);
    const answers: RecordOf<unknown>[] = [];
    const removed: StoredRecord[] = [];
    for (const write of writes) {
      if (write.type === "create") answers.push(parsed(this.#create(draft, owner, write)));
      else if (write.type === "put") answers.push(parsed(this.#put(draft, owner, write)));
      else {
        const record = required(draft, owner.teamId, write);
        if (write.type === "held") sameClaim(record, write);
        else {
          requireRevision(record, write.expectedRevision);
          removed.push(...removeFrom(draft, record, write.withChildren ?? false));
        }
        answers.push({ ...parsed(record), body: undefined });
      }
    }
    this.#records = draft;
    for (const record of removed) {
      this.#removed.set(record.id, record);
      this.contents.delete(`${record.teamId}/${record.id}`);
    }
    return answers;
  }

  async claim(kinds: readonly RecordKind[], options: { claim: string; leaseMs: number; limit: number }): Promise<Claimed[]> {
    const now = this.#clock.now();
    const due = kinds.flatMap((kind) =>
      [...this.#records.values()]
        .filter((record) => record.kind === kind && record.dueAtMs !== undefined && record.dueAtMs <= now)
        .sort((left, right) => (left.dueAtMs ?? 0) - (right.dueAtMs ?? 0)),
    );
    return due.slice(0, options.limit).map((record) => this.#claimed(this.#lease(record, options)));
  }

  async renew<Body>(held: { kind: RecordKind; id: string; claim: string }, leaseMs: number): Promise<Claimed<Body> | undefined> {
    const record = this.#records.get(held.id);
    if (!record || record.kind !== held.kind || record.claim !== held.claim) return undefined;
    return this.#claimed<Body>(this.#lease(record, { claim: held.claim, leaseMs }));
  }

  async putContent(teamId: string, id: string, content: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    this.contents.set(`${teamId}/${id}`, bytes);
    return { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  }

  async getContent(teamId: string, id: string, offset = 0): Promise<AsyncIterable<Uint8Array> | undefined> {
    const bytes = this.contents.get(`${teamId}/${id}`);
    return bytes && inChunks(bytes.subarray(offset));
  }

  #create(draft: Map<string, StoredRecord>, owner: Owner, write: Extract<RecordWrite, { type: "create" }>): StoredRecord {
    if (draft.has(write.id)) throw new AppError("ALREADY_EXISTS", "The record exists already.");
    const { type: _, body, parentId = "", ...given } = write;
    const claim = write.dueAtMs === undefined ? undefined : write.claim;
    const record = { ...given, ...ownerOf(owner), parentId, claim, body: JSON.stringify(body), revision: 1n, sequence: ++this.#sequence };
    draft.set(record.id, record);
    return record;
  }

  #put(draft: Map<string, StoredRecord>, owner: Owner, write: Put): StoredRecord {
    const record = required(draft, owner.teamId, write);
    requireRevision(record, write.expectedRevision);
    const work = write.keepWork ? sameClaim(record, write) : nextClaim(record, write, this.#clock.now());
    const changed = { ...record, ...work, body: JSON.stringify(write.body), revision: record.revision + 1n };
    draft.set(changed.id, changed);
    return changed;
  }

  #claimed<Body>(record: StoredRecord): Claimed<Body> {
    const caller = this.#callerOf(record.keyId);
    return { record: parsed<Body>(record), caller: caller?.teamId === record.teamId ? caller : undefined };
  }

  #lease(record: StoredRecord, { claim, leaseMs }: { claim: string; leaseMs: number }): StoredRecord {
    const held = { ...record, claim, dueAtMs: this.#clock.now() + leaseMs };
    this.#records = new Map(this.#records).set(held.id, held);
    return held;
  }
}

type ClaimFields = Pick<StoredRecord, "dueAtMs" | "claim" | "expiresAtMs">;

function sameClaim(record: StoredRecord, { claim }: Pick<Put, "claim">): ClaimFields {
  if (claim !== undefined && claim !== record.claim) throw lost();
  return { dueAtMs: record.dueAtMs, claim: record.claim, expiresAtMs: record.expiresAtMs };
}

function nextClaim(record: StoredRecord, write: Put, now: number): ClaimFields {
  const isHeld = record.claim !== undefined && (record.dueAtMs ?? 0) > now;
  const mayTake = write.claim === undefined || write.expectedRevision !== undefined;
  if (record.claim !== write.claim && (isHeld || !mayTake)) throw lost();
  const claim = write.dueAtMs === undefined ? undefined : write.claim;
  return { dueAtMs: write.dueAtMs, claim, expiresAtMs: write.expiresAtMs };
}

function required(draft: ReadonlyMap<string, StoredRecord>, teamId: string, { kind, id }: { kind: RecordKind; id: string }): StoredRecord {
  const record = draft.get(id);
  if (record?.teamId !== teamId || record.kind !== kind) throw new AppError("NOT_FOUND", `There is no ${kind} ${id}.`);
  return record;
}

function requireRevision(record: StoredRecord, expected: bigint | undefined): void {
  if (expected !== undefined && expected !== record.revision) throw new AppError("RECORD_CHANGED", "The record was changed meanwhile.");
}

function lost(): AppError {
  return new AppError("RECORD_CHANGED", "Another edge has claimed this record.");
}

function removeFrom(draft: Map<string, StoredRecord>, record: StoredRecord, withChildren: boolean): StoredRecord[] {
  draft.delete(record.id);
  const children = withChildren ? [...draft.values()].filter(({ parentId }) => parentId === record.id) : [];
  return [record, ...children.flatMap((child) => removeFrom(draft, child, true))];
}

function parsed<Body>({ sequence: _, ...record }: StoredRecord): RecordOf<Body> {
  return { ...record, body: JSON.parse(record.body) as Body };
}

async function* inChunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 65_536) yield bytes.subarray(start, start + 65_536);
}
