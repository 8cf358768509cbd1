import { asAppError } from "../../../common/errors.ts";
import type { RecordKind } from "../../../common/record-kinds.ts";
import type {
  PutContentRequest,
  Record as RecordMessage,
  RecordWrite as WriteMessage,
} from "../../../proto/gen/tributary/records/v1/records.ts";
import type { RecordsClient } from "../../access/clients/control-plane.ts";
import type { ContentOptions, Owner, PageQuery, RecordOf, RecordStore, RecordWrite } from "./records.ts";

const ASK = { deadlineMs: 5000 };
/** Files may be large and clients slow. */
const CONTENT = { deadlineMs: 1_800_000 };
const CHUNK_BYTES_MAX = 256 * 1024;

/** The record store of the control plane, over gRPC. */
export function createRpcRecords(client: RecordsClient): RecordStore {
  return {
    get: async <Body>(teamId: string, kind: RecordKind, id: string) => {
      const { record } = await client.getRecord({ teamId, kind, id }, ASK);
      return record && recordOf<Body>(record);
    },
    list: (teamId, kind, page) => listAll(client, { teamId, kind, page }),
    commit: async (owner, writes) => {
      const { records } = await client.commitRecords(
        { teamId: owner.teamId, writes: writes.map((write) => writeMessage(owner, write)) },
        ASK,
      );
      // The response has no bodies: they are known here.
      return records.map((record, index) => ({ ...recordOf({ ...record, body: "null" }), body: bodyOf(writes[index]) }));
    },
    claim: async (kinds, { claim, leaseMs, limit }) => {
      const { claimed } = await client.claimRecords({ kinds: [...kinds], claim, leaseMs: BigInt(leaseMs), limit }, ASK);
      return claimed.flatMap(({ record, caller }) => (record ? [{ record: recordOf<unknown>(record), caller }] : []));
    },
    renew: async <Body>(held: { kind: RecordKind; id: string; claim: string }, leaseMs: number) => {
      const { record, caller } = await client.renewClaim({ ...held, leaseMs: BigInt(leaseMs) }, ASK);
      return record && { record: recordOf<Body>(record), caller };
    },
    putContent: async (teamId, id, content, options = {}) => {
      const { bytes, sha256 } = await client.putContent(contentMessages({ teamId, id, ...options }, content), CONTENT);
      return { bytes: Number(bytes), sha256 };
    },
    getContent: async (teamId, id, offset = 0) => {
      const messages = client.getContent({ teamId, id, offset: BigInt(offset) }, CONTENT)[Symbol.asyncIterator]();
      // Only the first message shows whether there is content.
      const first = await messages.next().catch((thrown: unknown) => {
        if (asAppError(thrown).code === "NOT_FOUND") return undefined;
        throw thrown;
      });
      return first && chunksFrom(first, messages);
    },
  };
}

/** Fetches a page in several requests if its records are too large for one message. */
async function listAll<Body>(
  client: RecordsClient,
  { teamId, kind, page }: { teamId: string; kind: RecordKind; page: PageQuery },
): Promise<{ records: RecordOf<Body>[]; hasMore: boolean }> {
  const scope = { teamId, kind, parentId: page.parentId ?? "", descending: page.order === "desc" };
  let records: RecordOf<Body>[] = [];
  let { after, before } = page;
  const isBackwards = before !== undefined && after === undefined;
  for (;;) {
    const answer = await client.listRecords({ ...scope, after, before, limit: page.limit - records.length }, ASK);
    const more = answer.records.map((record) => recordOf<Body>(record));
    records = isBackwards ? [...more, ...records] : [...records, ...more];
    if (!answer.hasMore || more.length === 0 || records.length >= page.limit) return { records, hasMore: answer.hasMore };
    if (isBackwards) before = records[0]?.id;
    else after = records.at(-1)?.id;
  }
}

function recordOf<Body>(message: RecordMessage): RecordOf<Body> {
  const { id, kind, teamId, organizationId, keyId, parentId, body, revision, claim } = message;
  return {
    ...{ id, teamId, organizationId, keyId, parentId, revision, claim },
    kind: kind as RecordKind,
    body: JSON.parse(body) as Body,
    createdAtMs: Number(message.createdAtMs),
    dueAtMs: optionalNumber(message.dueAtMs),
    expiresAtMs: optionalNumber(message.expiresAtMs),
  };
}

function writeMessage({ teamId, organizationId, keyId }: Owner, write: RecordWrite): WriteMessage {
  if (write.type === "remove") {
    const { kind, id, expectedRevision, withChildren = false } = write;
    return { write: { $case: "remove", value: { kind, id, expectedRevision, withChildren } } };
  }
  if (write.type === "held") return { write: { $case: "held", value: { kind: write.kind, id: write.id, claim: write.claim } } };
  const { kind, id, claim } = write;
  const times = { dueAtMs: optionalBigint(write.dueAtMs), expiresAtMs: optionalBigint(write.expiresAtMs) };
  const body = JSON.stringify(write.body);
  if (write.type === "put") {
    const { expectedRevision, keepWork = false } = write;
    return { write: { $case: "put", value: { kind, id, body, claim, ...times, expectedRevision, keepWork } } };
  }
  const place = { teamId, organizationId, keyId, parentId: write.parentId ?? "", revision: 0n, sequence: 0n };
  return { write: { $case: "create", value: { kind, id, body, claim, ...times, ...place, createdAtMs: BigInt(write.createdAtMs) } } };
}

function bodyOf(write: RecordWrite | undefined): unknown {
  return write && "body" in write ? (JSON.parse(JSON.stringify(write.body)) as unknown) : undefined;
}

const REST = { teamId: "", id: "", bytes: 0n, isTemporary: false };

/** The first message names the content, the others contain its bytes. */
async function* contentMessages(
  { teamId, id, bytes: size = 0, isTemporary = false }: { teamId: string; id: string } & ContentOptions,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<PutContentRequest> {
  yield { teamId, id, chunk: Buffer.alloc(0), bytes: BigInt(size), isTemporary };
  for await (const bytes of content) {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES_MAX) {
      const length = Math.min(CHUNK_BYTES_MAX, bytes.length - start);
      yield { ...REST, chunk: Buffer.from(bytes.buffer, bytes.byteOffset + start, length) };
    }
  }
}

async function* chunksFrom(
  first: IteratorResult<{ chunk: Uint8Array }>,
  rest: AsyncIterator<{ chunk: Uint8Array }>,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value.chunk;
  } finally {
    await rest.return?.();
  }
}

function optionalNumber(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function optionalBigint(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
