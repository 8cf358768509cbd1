import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { ClaimedRecord, ClaimRecordsRequest, RecordsServiceService } from "../../../proto/gen/tributary/records/v1/records.ts";
import type { TeamRecord } from "../../domain/records.ts";
import { collect } from "../../stores/page.ts";
import { teamRecordsScope } from "../../stores/scopes.ts";
import type { Transaction } from "../../stores/store.ts";
import { claimDue, commitRecords, commitScopes, contentId, renewClaim, type TeamWrite } from "../../writes/records.ts";
import { callerOfKeyId } from "../access/callers.ts";
import type { ControlDeps } from "../deps.ts";
import { getContent, putContent, removeContents } from "./content.ts";
import { recordMessage, requireId, teamWrite } from "./messages.ts";
import { listRecords } from "./page.ts";
import { thinOut } from "./thin-out.ts";

const WRITES_MAX = 2000;
const CLAIMS_MAX = 100;
/** An answer with one more record of the largest size still fits a message. */
const CLAIMED_BYTES_MAX = 512 * 1024;
const LEASE_MS_MIN = 100;
const LEASE_MS_MAX = 600_000;

/** Handlers for records that teams store in the gateway. A record is visible only to its own team. */
export function recordsHandlers(deps: ControlDeps): ServiceHandlers<typeof RecordsServiceService> {
  const { store, clock } = deps;
  return {
    async getRecord({ teamId, kind, id }) {
      const record = await store.get("records", id);
      return { record: record?.teamId === teamId && record.kind === kind ? recordMessage(record) : undefined };
    },

    async listRecords(request) {
      const { records, hasMore } = await listRecords(store, request);
      return { records: records.map(recordMessage), hasMore };
    },

    async commitRecords(request) {
      const teamId = requireId(request.teamId);
      if (request.writes.length > WRITES_MAX) throw new AppError("PAYLOAD_TOO_LARGE", `A commit has at most ${WRITES_MAX} writes.`);
      const writes = request.writes.map(teamWrite);
      await thinOutRemoved(deps, teamId, writes);
      const limit = deps.config.recordsBytesMax;
      const { records, removed } = await store.transaction(await commitScopes(store, teamId, writes), (tx) =>
        commitRecords(tx, { teamId, writes, limit }, clock.now()),
      );
      await removeContentsOf(deps, removed);
      return { records: records.map((record) => recordMessage({ ...record, body: "" })) };
    },

    async claimRecords(request) {
      requireLease(request.leaseMs);
      const records = await claimRecords(deps, request);
      return { claimed: await Promise.all(records.map((record) => withCaller(deps, record))) };
    },

    async renewClaim(request) {
      const { kind, id, claim } = request;
      const leaseMs = requireLease(request.leaseMs);
      const { teamId } = (await store.get("records", id)) ?? {};
      const renew = (tx: Transaction) => renewClaim(tx, { kind, id, claim, leaseMs }, clock.now());
      const record = teamId === undefined ? undefined : await store.transaction(teamRecordsScope(teamId), renew);
      return record ? withCaller(deps, record) : {};
    },

    putContent: (messages) => putContent(deps, messages),

    getContent(request, stream) {
      void getContent(deps, request, stream);
    },
  };
}

/** A record with many descendants is removed in several transactions: the commit has the last one. */
async function thinOutRemoved(deps: ControlDeps, teamId: string, writes: readonly TeamWrite[]): Promise<void> {
  for (const write of writes) {
    if (write.type !== "remove" || !write.withChildren) continue;
    const record = await deps.store.get("records", write.id);
    const isMeant = record?.teamId === teamId && record.kind === write.kind;
    if (!isMeant || (write.expectedRevision !== undefined && write.expectedRevision !== record.revision)) continue;
    await thinOut(deps.store, record, { now: deps.clock.now(), onRemoved: (page) => removeContentsOf(deps, page) });
  }
}

/** Most requests find nothing due, so a read without a transaction comes first. */
async function claimRecords({ store, clock }: ControlDeps, request: ClaimRecordsRequest): Promise<TeamRecord[]> {
  const limit = Math.min(request.limit, CLAIMS_MAX);
  const claimed: TeamRecord[] = [];
  let bytes = 0;
  for (const kind of request.kinds) {
    // One at a time, so that the answer fits a message.
    while (claimed.length < limit && bytes < CLAIMED_BYTES_MAX) {
      const [due] = await collect(store.scan("records", { index: "byDue", equals: [kind], before: clock.now() + 1, limit: 1 }));
      if (!due) break;
      const lease = { kind, id: due.id, claim: request.claim, leaseMs: Number(request.leaseMs) };
      const record = await store.transaction(teamRecordsScope(due.teamId), (tx) => claimDue(tx, lease, clock.now()));
      // Another edge was first.
      if (!record) continue;
      claimed.push(record);
      bytes += Buffer.byteLength(record.body);
    }
  }
  return claimed;
}

async function withCaller(deps: ControlDeps, record: TeamRecord): Promise<ClaimedRecord> {
  const caller = await callerOfKeyId(deps, record.keyId);
  return { record: recordMessage(record), caller: caller?.teamId === record.teamId ? caller : undefined };
}

/** Removes the content of removed records. A failure does not fail the commit, because a job removes the content later. */
async function removeContentsOf(deps: ControlDeps, removed: readonly TeamRecord[]): Promise<void> {
  if (removed.length === 0) return;
  await removeContents(deps, removed.map(contentId)).catch((error: unknown) => {
    deps.logger.warn({ error: String(error) }, "the content of removed records could not be removed; a job retries");
  });
}

function requireLease(leaseMs: bigint): number {
  const given = Number(leaseMs);
  if (given >= LEASE_MS_MIN && given <= LEASE_MS_MAX) return given;
  throw new AppError("VALIDATION_ERROR", `leaseMs must be ${LEASE_MS_MIN} to ${LEASE_MS_MAX}.`);
}
