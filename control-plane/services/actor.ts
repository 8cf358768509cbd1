import { timingSafeEqual } from "node:crypto";
import { AppError } from "../../common/errors.ts";
import type { CallContext } from "../../common/grpc/server.ts";
import { masterKeyOf } from "../bootstrap.ts";
import type { Role, Session, User } from "../domain/records.ts";
import type { Reader } from "../stores/store.ts";
import { isAlive } from "../writes/accounts.ts";
import type { ControlDeps } from "./deps.ts";
import { endReusedSession, isInFlight, isReplaced } from "./token-rotation.ts";

/** The principal of a request: a signed-in user, with the active organization of the session and the role there. */
export interface Actor {
  user: User;
  session: Session;
  organizationId: string;
  organizationRole: Role;
}

/**
 * Verifies the token of the call. User, session and role are read for every call, so that a revocation applies at once. A replaced token ends
 * the session, unless `isRepeated` says that the call is only the repetition of the one that replaced it.
 */
export async function requireActor(
  deps: ControlDeps,
  context: CallContext,
  isRepeated: () => Promise<boolean> = async () => false,
): Promise<Actor> {
  const token = context.metadata["authorization"];
  if (!token) throw new AppError("UNAUTHORIZED", "Log in first: this operation needs a token.");
  const masterSha256 = MASTER.exec(token)?.[1];
  if (masterSha256 !== undefined) return masterActor(deps, Buffer.from(masterSha256, "hex"));
  const { sessionId, userId, generation } = await deps.tokens.verify(token);
  const [session, user] = await Promise.all([deps.store.get("sessions", sessionId), deps.store.get("users", userId)]);
  const alive = session && session.userId === userId && isAlive(session, deps.clock.now());
  if (!alive || !user) throw new AppError("UNAUTHORIZED", "The session has ended. Log in again.");
  requireEnabled(user);
  const isReused = isReplaced(session, generation) && !isInFlight(deps, context, session, generation) && !(await isRepeated());
  if (isReused) await endReusedSession(deps, context, session);
  return { user, session, ...(await activeOrganization(deps.store, user, session)) };
}

/** Refuses a user whom a platform admin disabled. */
export function requireEnabled({ disabledAt }: User): void {
  if (disabledAt !== undefined) throw new AppError("FORBIDDEN", "This account is disabled. Ask a platform administrator to enable it.");
}

/** The actor of a public operation that shows signed-in users more; an invalid token counts as none. */
export async function actorIfAny(deps: ControlDeps, context: CallContext): Promise<Actor | undefined> {
  if (!context.metadata["authorization"]) return undefined;
  return requireActor(deps, context).catch((thrown: unknown) => {
    if (thrown instanceof AppError && (thrown.code === "UNAUTHORIZED" || thrown.code === "FORBIDDEN")) return undefined;
    throw thrown;
  });
}

/** What an edge sends in place of a master key, on operations that accept it. */
const MASTER = /^key-sha256 ([0-9a-f]{64})$/;

/** The actor of the master key: the first admin in their own organization, without a session that could be revoked. */
async function masterActor(deps: ControlDeps, sha256: Buffer): Promise<Actor> {
  const { hash: expected } = await masterKeyOf(deps);
  const isMaster = expected !== undefined && timingSafeEqual(Buffer.from(deps.secrets.keyHash(sha256)), Buffer.from(expected));
  const user = isMaster ? await deps.store.find("users", "byEmail", [deps.config.adminEmail]) : undefined;
  if (!user) throw new AppError("UNAUTHORIZED", "This operation needs the master key or the token of a platform administrator.");
  const now = deps.clock.now();
  const session: Session = { id: "master", userId: user.id, organizationId: user.organizationId, createdAt: now, expiresAt: now };
  return { user, session, ...(await activeOrganization(deps.store, user, session)) };
}

export async function requireAdmin(deps: ControlDeps, context: CallContext): Promise<Actor> {
  const actor = await requireActor(deps, context);
  if (actor.user.role !== "admin") throw new AppError("FORBIDDEN", "This operation is for platform administrators.");
  return actor;
}

/** For operations on the organization itself: credits, name, thresholds. */
export function requireOrganizationManager(actor: Actor): void {
  if (actor.organizationRole === "member") {
    throw new AppError("FORBIDDEN", "Only an owner or admin of the organization may do this.");
  }
}

// A user who was removed from the active organization falls back to their own.
async function activeOrganization(
  reader: Reader,
  user: User,
  session: Session,
): Promise<{ organizationId: string; organizationRole: Role }> {
  for (const organizationId of [session.organizationId, user.organizationId]) {
    const membership = await reader.get("organizationMembers", `${organizationId}/${user.id}`);
    if (membership) return { organizationId, organizationRole: membership.role };
  }
  throw new AppError("FORBIDDEN", "You are not a member of any organization. Ask an owner or admin for an invitation.");
}
