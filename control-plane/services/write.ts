import { AppError } from "../../common/errors.ts";
import type { CallContext } from "../../common/grpc/server.ts";
import { listOf, type Scopes } from "../stores/scopes.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { type AuditInput, writeAudit } from "../writes/audit.ts";
import type { Actor } from "./actor.ts";
import type { ControlDeps } from "./deps.ts";

/** Serializes a response for the idempotency record. */
export interface ResponseCodec<Response> {
  encode(message: Response): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Response;
}

/** What a write works with: its transaction, its time and its audit line. */
export interface WriteScope {
  readonly tx: Transaction;
  readonly now: number;
  /** With `actorId` where the write itself establishes who acts, such as a log-in. */
  audit(entry: Pick<AuditInput, "action" | "target"> & Partial<Pick<AuditInput, "organizationId" | "details" | "actorId">>): Promise<void>;
}

const IDEMPOTENCY_LIFE_MS = 24 * 3_600_000;

/**
 * Runs one write operation in one transaction with its audit line and, if the caller sent an Idempotency-Key, its answer. A retry after a
 * lost answer gets the same answer, and a crash cannot leave one without the other. `scopes` are those of what `work` writes.
 */
export async function write<Response>(
  deps: ControlDeps,
  context: CallContext,
  options: { actor: Actor | undefined; codec: ResponseCodec<Response>; scopes: Scopes },
  work: (scope: WriteScope) => Promise<Response>,
): Promise<Response> {
  const { actor, codec, scopes } = options;
  const idempotency = readIdempotency(deps, context, actor);
  let replayed = false;
  const response = await deps.store.transaction(["audit", ...listOf(scopes)], async (tx) => {
    const now = deps.clock.now();
    replayed = false;
    const stored = idempotency && (await storedAnswer(tx, idempotency, now));
    if (stored !== undefined) {
      replayed = true;
      return codec.decode(deps.secrets.open(stored));
    }
    const audit: WriteScope["audit"] = (entry) =>
      writeAudit(tx, { ...who(actor, context), ...(entry.actorId === undefined ? {} : { actorKind: "user" }), ...entry }, now);
    const result = await work({ tx, now, audit });
    if (idempotency) {
      await tx.put("idempotency", {
        id: idempotency.id,
        requestHash: idempotency.requestHash,
        // Encrypted, because the answer may contain a new key or token, which must not be stored in plain text.
        sealedAnswer: deps.secrets.seal(codec.encode(result).finish()),
        expiresAt: now + IDEMPOTENCY_LIFE_MS,
      });
    }
    return result;
  });
  if (replayed) context.setHeader("idempotent-replayed", "true");
  return response;
}

/**
 * The stored answer of a repeated request. For writes whose checks fail once they are done, such as the current password of a password
 * change.
 */
export async function replayOf<Response>(
  deps: ControlDeps,
  context: CallContext,
  { actor, codec }: { actor: Caller | undefined; codec: ResponseCodec<Response> },
): Promise<Response | undefined> {
  const idempotency = readIdempotency(deps, context, actor);
  const stored = idempotency && (await storedAnswer(deps.store, idempotency, deps.clock.now()));
  if (stored === undefined) return undefined;
  context.setHeader("idempotent-replayed", "true");
  return codec.decode(deps.secrets.open(stored));
}

/** Whose Idempotency-Keys they are. */
interface Caller {
  user: { id: number };
}

interface Idempotency {
  id: string;
  requestHash: string;
}

function readIdempotency(deps: ControlDeps, context: CallContext, actor: Caller | undefined): Idempotency | undefined {
  const key = context.metadata["idempotency-key"];
  if (!key) return undefined;
  // The hash covers the user, so that no user gets the answer of another one.
  const id = deps.secrets.tokenHash(`${actor ? `user ${actor.user.id}` : "anonymous"} ${key}`);
  // Hashed with a key, because the body may contain a password, which a plain hash would expose to guessing.
  return { id, requestHash: deps.secrets.tokenHash(context.metadata["idempotency-hash"] ?? "") };
}

async function storedAnswer(reader: Reader, { id, requestHash }: Idempotency, now: number): Promise<string | undefined> {
  const record = await reader.get("idempotency", id);
  if (!record || record.expiresAt <= now) return undefined;
  if (record.requestHash !== requestHash) {
    throw new AppError("IDEMPOTENCY_CONFLICT", "This Idempotency-Key was used for another request. Use a new key.");
  }
  return record.sealedAnswer;
}

function who(actor: Actor | undefined, context: CallContext): Pick<AuditInput, "actorId" | "actorKind" | "organizationId" | "requestId"> {
  return {
    actorId: actor?.user.id,
    actorKind: actor ? "user" : "anonymous",
    organizationId: actor?.organizationId,
    requestId: context.metadata["x-request-id"] ?? "",
  };
}
