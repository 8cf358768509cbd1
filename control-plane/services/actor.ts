import { AppError } from "../../common/errors.ts";
import type { CallContext } from "../../common/grpc/server.ts";
import type { Role, Session, User } from "../domain/records.ts";
import type { Reader } from "../stores/store.ts";
import type { ControlDeps } from "./deps.ts";

/** Who is asking: a signed-in person, with the organisation that is active in the session and his role there. */
export interface Actor {
  user: User;
  session: Session;
  organizationId: string;
  organizationRole: Role;
}

/** Reads the token of the call; everything about the person is read afresh, so that a revocation holds at once. */
export async function requireActor(deps: ControlDeps, context: CallContext): Promise<Actor> {
  const token = context.metadata["authorization"];
  if (!token) throw new AppError("UNAUTHORIZED", "Log in first: this operation needs a token.");
  const { sessionId, userId } = await deps.tokens.verify(token);
  const [session, user] = await Promise.all([deps.store.get("sessions", sessionId), deps.store.get("users", userId)]);
  const alive = session && session.userId === userId && session.revokedAt === undefined && session.expiresAt > deps.clock.now();
  if (!alive || !user) throw new AppError("UNAUTHORIZED", "The session has ended. Log in again.");
  return { user, session, ...(await activeOrganization(deps.store, user, session)) };
}

export async function requireAdmin(deps: ControlDeps, context: CallContext): Promise<Actor> {
  const actor = await requireActor(deps, context);
  if (actor.user.role !== "admin") throw new AppError("FORBIDDEN", "This operation is for platform administrators.");
  return actor;
}

/** For what belongs to the organisation as a whole: credits, its name, its thresholds. */
export function requireOrganizationManager(actor: Actor): void {
  if (actor.organizationRole === "member") {
    throw new AppError("FORBIDDEN", "Only an owner or admin of the organization may do this.");
  }
}

// Whoever was removed from the organisation that was active falls back to his own.
async function activeOrganization(
  reader: Reader,
  user: User,
  session: Session,
): Promise<{ organizationId: string; organizationRole: Role }> {
  for (const organizationId of [session.organizationId, user.organizationId]) {
    const membership = await reader.get("organizationMembers", `${organizationId}/${user.id}`);
    if (membership) return { organizationId, organizationRole: membership.role };
  }
  throw new AppError("FORBIDDEN", "You belong to no organization any more. Ask to be invited.");
}
