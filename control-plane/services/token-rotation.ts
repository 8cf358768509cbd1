import { AppError } from "../../common/errors.ts";
import type { CallContext } from "../../common/grpc/server.ts";
import type { Session } from "../domain/records.ts";
import { writeAudit } from "../writes/audit.ts";
import type { ControlDeps } from "./deps.ts";

/** For so long after a refresh, the token before it may still arrive from a client that does not have the new one yet. */
const JUST_REPLACED_MS = 10_000;

/** Whether a refresh has replaced a token of this generation. */
export function isReplaced({ generation = 0 }: Session, ofToken: number): boolean {
  return ofToken < generation;
}

/** Whether the latest refresh replaced it, within the last seconds. */
export function isJustReplaced({ generation = 0, refreshedAt = 0 }: Session, ofToken: number, now: number): boolean {
  return ofToken === generation - 1 && now - refreshedAt < JUST_REPLACED_MS;
}

/**
 * Whether the token of the console's cookie was replaced while this request was on its way. Tabs and requests of a page share one cookie and
 * run in parallel, so such a request is not a second use.
 */
export function isInFlight(deps: ControlDeps, context: CallContext, session: Session, ofToken: number): boolean {
  return context.metadata["x-session-cookie"] === "true" && isJustReplaced(session, ofToken, deps.clock.now());
}

/** Ends a session whose replaced token was used: it has been copied, and which of the two holders is the user is unknown. */
export async function endReusedSession(deps: ControlDeps, context: CallContext, { id }: Session): Promise<never> {
  await deps.store.transaction(["identity", "audit"], async (tx) => {
    const now = deps.clock.now();
    const session = await tx.get("sessions", id);
    if (!session || session.revokedAt !== undefined) return;
    await tx.put("sessions", { ...session, revokedAt: now });
    const { userId, organizationId } = session;
    const requestId = context.metadata["x-request-id"] ?? "";
    await writeAudit(
      tx,
      { actorKind: "anonymous", action: "session.reuse", target: id, organizationId, requestId, details: { userId } },
      now,
    );
  });
  throw new AppError("UNAUTHORIZED", "The session has ended, because a token was used again after its refresh. Log in again.");
}
