import { AppError } from "../../common/errors.ts";
import type { CallContext } from "../../common/grpc/server.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { type AuditInput, writeAudit } from "../writes/audit.ts";
import type { Actor } from "./actor.ts";
import type { ControlDeps } from "./deps.ts";

/** How a response travels into and out of the idempotency record. */
export interface ResponseCodec<Response> {
  encode(message: Response): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Response;
}

/** What a write may do: the transaction, the time it happens, and its line in the audit log. */
export interface WriteScope {
  readonly tx: Transaction;
  readonly now: number;
  audit(entry: Pick<AuditInput, "action" | "target"> & Partial<Pick<AuditInput, "organizationId" | "details">>): Promise<void>;
}

const IDEMPOTENCY_LIFE_MS = 24 * 3_600_000;

/**
 * One write operation: one transaction that holds the change, its audit line and, when the caller sent an Idempotency-Key, the
 * answer itself. So a repeat after a lost answer gets the same answer, and a crash can never leave one without the other.
 */
export async function write<Response>(
  deps: ControlDeps,
  context: CallContext,
  options: { actor: Actor | undefined; codec: ResponseCodec<Response> },
  work: (scope: WriteScope) => Promise<Response>,
): Promise<Response> {
  const { actor, codec } = options;
  const idempotency = readIdempotency(deps, context, actor);
  let replayed = false;
  const response = await deps.store.transaction(async (tx) => {
    const now = deps.clock.now();
    replayed = false;
    const stored = idempotency && (await storedAnswer(tx, idempotency, now));
    if (stored !== undefined) {
      replayed = true;
      return codec.decode(deps.secrets.open(stored));
    }
    const result = await work({ tx, now, audit: (entry) => writeAudit(tx, { ...who(actor, context), ...entry }, now) });
    if (idempotency) {
      await tx.put("idempotency", {
        id: idempotency.id,
        requestHash: idempotency.requestHash,
        // Sealed: the answer may hold a new key or a token, and nothing at rest may.
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
 * The answer that this very request got before, when it is a repetition. For writes whose own checks do not hold any more once
 * they are done: the current password of a password change.
 */
export async function replayOf<Response>(
  deps: ControlDeps,
  context: CallContext,
  { actor, codec }: { actor: Actor | undefined; codec: ResponseCodec<Response> },
): Promise<Response | undefined> {
  const idempotency = readIdempotency(deps, context, actor);
  const stored = idempotency && (await storedAnswer(deps.store, idempotency, deps.clock.now()));
  if (stored === undefined) return undefined;
  context.setHeader("idempotent-replayed", "true");
  return codec.decode(deps.secrets.open(stored));
}

interface Idempotency {
  id: string;
  requestHash: string;
}

function readIdempotency(deps: ControlDeps, context: CallContext, actor: Actor | undefined): Idempotency | undefined {
  const key = context.metadata["idempotency-key"];
  if (!key) return undefined;
  // Hashed with who asks, so that nobody meets another's answer.
  const id = deps.secrets.tokenHash(`${actor ? `user ${actor.user.id}` : "anonymous"} ${key}`);
  // Keyed as well: the hash of a body that holds a password must not be open to guessing at rest.
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
