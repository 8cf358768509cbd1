import { timingSafeEqual } from "node:crypto";
import { AppError, asAppError } from "../../common/errors.ts";
import type { ServerStream, ServiceHandlers } from "../../common/grpc/server.ts";
import { toErrorInfo } from "../../common/grpc/status.ts";
import {
  type AccessServiceService,
  type Caller,
  type ReserveOutcome,
  type ReserveRequest,
  StoredAnswer,
  type WatchResponse,
} from "../../proto/gen/tributary/access/v1/access.ts";
import { higher } from "../domain/permissions.ts";
import type { ApiKey, Team } from "../domain/records.ts";
import { teamState } from "../domain/team-state.ts";
import type { FeedMessage } from "../feed/hub.ts";
import { collect } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";
import type { ControlDeps } from "./deps.ts";
import { allDeployments, settingsJson } from "./merged-catalog.ts";
import { optionalDate } from "./messages.ts";
import { usageRow } from "./usage-messages.ts";

const MASTER_KEY_ID = "key_master";
const IDEMPOTENCY_LIFE_MS = 24 * 3_600_000;
const WATCH_QUEUE_MAX = 1000;

/** The master key: what is kept of it, and, when the operator chose it himself, its SHA-256 for edges to know it by without a checksum. */
export interface MasterKey {
  hash: string | undefined;
  sha256: Buffer | undefined;
}

/** What edges ask. */
export function accessHandlers(deps: ControlDeps, master: MasterKey): ServiceHandlers<typeof AccessServiceService> {
  return {
    async resolveKey(request) {
      // The revision is read first: the answer is at least as new as it says.
      const revision = BigInt(deps.feed.revision);
      const hash = deps.secrets.keyHash(request.secretSha256);
      const isMaster = master.hash !== undefined && timingSafeEqual(Buffer.from(hash), Buffer.from(master.hash));
      return { caller: isMaster ? await masterCaller(deps) : await keyCaller(deps, hash), revision };
    },

    async getSnapshot() {
      const revision = BigInt(deps.feed.revision);
      return { deployments: await allDeployments(deps), masterKeySha256: master.sha256, revision, settings: settingsJson(deps) };
    },

    watch(request, stream) {
      void watch(deps, Number(request.afterRevision), stream);
    },

    async reserve(request) {
      const { reserved, rate } = await deps.reservations.reserve({ ...request, tokens: Number(request.tokens) });
      return { reserved, rate };
    },

    async reserveMany(request) {
      return { outcomes: await Promise.all(request.reservations.map((reservation) => reserveOne(deps, reservation))) };
    },

    async settle(request) {
      const rows = request.settlements.flatMap(({ log }) => (log ? [usageRow(log)] : []));
      const { settled, repeated, refused } = await deps.settler.settle(rows);
      if (refused.length > 0) throw new AppError("ALREADY_EXISTS", `Reported before with other content: ${refused.join(", ")}.`);
      return { settled: BigInt(settled), repeatedBefore: BigInt(repeated) };
    },

    async release(request) {
      deps.reservations.release(request.callId);
      return {};
    },

    async beginIdempotentCall(request) {
      const id = callRecordId(deps, request);
      const requestHash = Buffer.from(request.bodySha256).toString("hex");
      return deps.store.transaction(async (tx) => {
        const now = deps.clock.now();
        const record = await tx.get("idempotency", id);
        if (record && record.expiresAt > now) {
          if (record.requestHash !== requestHash) {
            throw new AppError("IDEMPOTENCY_CONFLICT", "This Idempotency-Key was used for another request. Use a new key.");
          }
          if (record.sealedAnswer !== undefined) return { answer: StoredAnswer.decode(deps.secrets.open(record.sealedAnswer)) };
          throw new AppError("IDEMPOTENCY_CONFLICT", "A request with this Idempotency-Key is still running.", { retryAfterSeconds: 1 });
        }
        // Held for as long as a call may run; a dead edge's key is free after that.
        await tx.put("idempotency", { id, requestHash, holder: request.callId, expiresAt: now + 15 * 60 * 1000 });
        return { answer: undefined };
      });
    },

    async endIdempotentCall(request) {
      const id = callRecordId(deps, request);
      await deps.store.transaction(async (tx) => {
        const record = await tx.get("idempotency", id);
        if (!record || record.holder !== request.callId) return;
        if (!request.answer) return tx.remove("idempotency", id);
        const sealedAnswer = deps.secrets.seal(StoredAnswer.encode(request.answer).finish());
        await tx.put("idempotency", {
          id,
          requestHash: record.requestHash,
          sealedAnswer,
          expiresAt: deps.clock.now() + IDEMPOTENCY_LIFE_MS,
        });
      });
      return {};
    },
  };
}

async function reserveOne(deps: ControlDeps, request: ReserveRequest): Promise<ReserveOutcome> {
  try {
    const reserved = await deps.reservations.reserve({ ...request, tokens: Number(request.tokens) });
    return { outcome: { $case: "reserved", value: { reserved: reserved.reserved, rate: reserved.rate } } };
  } catch (thrown) {
    return { outcome: { $case: "refused", value: toErrorInfo(asAppError(thrown)) } };
  }
}

function callRecordId(deps: ControlDeps, request: { keyId: string; idempotencyKey: string }): string {
  return deps.secrets.tokenHash(`call ${request.keyId} ${request.idempotencyKey}`);
}

async function keyCaller(deps: ControlDeps, hash: string): Promise<Caller | undefined> {
  const now = deps.clock.now();
  const current = await deps.store.find("keys", "byHash", [hash]);
  const rotated = current ? undefined : await deps.store.find("keys", "byPreviousHash", [hash]);
  const key = current ?? ((rotated?.previousHashUntil ?? 0) > now ? rotated : undefined);
  if (!key || (key.expiresAt !== undefined && key.expiresAt <= now)) return undefined;
  const team = await deps.store.get("teams", key.teamId);
  if (!team) return undefined;
  const until = current ? key.expiresAt : Math.min(key.expiresAt ?? Number.POSITIVE_INFINITY, key.previousHashUntil ?? 0);
  return callerMessage(deps.store, key, team, until);
}

async function callerMessage(reader: Reader, key: ApiKey, team: Team, until: number | undefined): Promise<Caller> {
  const [organization, member] = await Promise.all([
    reader.get("organizationMembers", `${team.organizationId}/${key.createdBy}`),
    reader.get("teamMembers", `${team.id}/${key.createdBy}`),
  ]);
  const models = narrower(team.models, key.models);
  return {
    keyId: key.id,
    keyName: key.name,
    maskedKey: key.maskedKey,
    teamId: team.id,
    teamName: team.name,
    organizationId: team.organizationId,
    userId: BigInt(key.createdBy),
    status: teamState(team).status === "blocked" ? "team_blocked" : "active",
    models: models && { names: [...models] },
    expiresAt: optionalDate(until),
    isAdmin: false,
    role: higher(organization?.role, member?.role) ?? "member",
  };
}

/** A key may never use more than its team. */
function narrower(team: readonly string[] | undefined, key: readonly string[] | undefined): readonly string[] | undefined {
  if (!team || !key) return key ?? team;
  const allowed = new Set(team);
  return key.filter((name) => allowed.has(name));
}

async function masterCaller(deps: ControlDeps): Promise<Caller | undefined> {
  const admin = await deps.store.find("users", "byEmail", [deps.config.adminEmail]);
  if (!admin) return undefined;
  const [team] = await collect(deps.store.scan("teams", { index: "byOrganization", equals: [admin.organizationId], limit: 1 }));
  if (!team) return undefined;
  return {
    keyId: MASTER_KEY_ID,
    keyName: "master key",
    maskedKey: "sk-...mstr",
    teamId: team.id,
    teamName: team.name,
    organizationId: admin.organizationId,
    userId: BigInt(admin.id),
    status: teamState(team).status === "blocked" ? "team_blocked" : "active",
    models: undefined,
    expiresAt: undefined,
    isAdmin: true,
    role: "owner",
  };
}

/** Sends changes as they come. An edge that reads too slowly is cut off and told, by the gap, to resync. */
async function watch(deps: ControlDeps, after: number, stream: ServerStream<WatchResponse>): Promise<void> {
  let waiting = 0;
  let draining = false;
  const closed = new AbortController();
  const send = (message: FeedMessage) => {
    if (stream.signal.aborted || closed.signal.aborted) return;
    if (draining && ++waiting > WATCH_QUEUE_MAX) {
      closed.abort();
      return stream.end();
    }
    const sent = stream.write({
      changes: message.changes.map(({ id, kind, subject }) => ({ revision: BigInt(id), kind, subject })),
      revision: BigInt(message.revision),
      resync: message.resync,
    });
    if (sent || draining) return;
    draining = true;
    void stream.drained().then(() => {
      draining = false;
      waiting = 0;
    });
  };
  try {
    const stop = await deps.feed.watch(after, send);
    const gone = AbortSignal.any([stream.signal, closed.signal]);
    if (gone.aborted) stop();
    else gone.addEventListener("abort", stop, { once: true });
  } catch (error) {
    deps.logger.warn({ error: String(error) }, "a watch could not be opened");
    stream.end();
  }
}
