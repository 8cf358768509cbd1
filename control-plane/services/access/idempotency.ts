import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { type AccessServiceService, StoredAnswer } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ControlDeps } from "../deps.ts";

const IDEMPOTENCY_LIFE_MS = 24 * 3_600_000;
/** A running call renews this, each time with its own id; the key of a dead edge is free after it. */
const RESERVED_MS = 15 * 60_000;

type IdempotentCallHandlers = Pick<ServiceHandlers<typeof AccessServiceService>, "beginIdempotentCall" | "endIdempotentCall">;

/** Stores and replays answers of priced calls with an Idempotency-Key. */
export function idempotentCallHandlers(deps: ControlDeps): IdempotentCallHandlers {
  return {
    async beginIdempotentCall(request) {
      const id = callRecordId(deps, request);
      const requestHash = Buffer.from(request.bodySha256).toString("hex");
      return deps.store.transaction([], async (tx) => {
        const now = deps.clock.now();
        const record = await tx.get("idempotency", id);
        const isKnown = record !== undefined && record.expiresAt > now;
        if (isKnown && record.holder !== request.callId) {
          if (record.requestHash !== requestHash)
            throw new AppError("IDEMPOTENCY_CONFLICT", "This Idempotency-Key was used for another request. Use a new key.");
          if (record.sealedAnswer === undefined)
            throw new AppError("IDEMPOTENCY_CONFLICT", "A request with this Idempotency-Key is still running. Retry later.", {
              retryAfterSeconds: 1,
            });
          return { answer: StoredAnswer.decode(deps.secrets.open(record.sealedAnswer)) };
        }
        await tx.put("idempotency", { id, requestHash, holder: request.callId, expiresAt: now + RESERVED_MS });
        return { answer: undefined };
      });
    },

    async endIdempotentCall(request) {
      const id = callRecordId(deps, request);
      await deps.store.transaction([], async (tx) => {
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

function callRecordId(deps: ControlDeps, request: { keyId: string; idempotencyKey: string }): string {
  return deps.secrets.tokenHash(`call ${request.keyId} ${request.idempotencyKey}`);
}
