import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  EndOtherSessionsResponse,
  EndSessionResponse,
  type IdentityServiceService,
  LogoutResponse,
  RefreshTokenResponse,
  type Session as SessionMessage,
} from "../../../proto/gen/tributary/identity/v1/identity.ts";
import type { Session } from "../../domain/records.ts";
import { readPage } from "../../stores/page.ts";
import { endSessions, isAlive } from "../../writes/accounts.ts";
import { requireActor } from "../actor.ts";
import { clientOf } from "../client.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";
import { endReusedSession, isInFlight, isJustReplaced, isReplaced } from "../token-rotation.ts";
import { replayOf, write } from "../write.ts";

type Handlers = ServiceHandlers<typeof IdentityServiceService>;

type SessionHandlers = Pick<Handlers, "refreshToken" | "logout" | "listSessions" | "endSession" | "endOtherSessions">;

export function sessionHandlers(deps: ControlDeps): SessionHandlers {
  return {
    refreshToken: refreshToken(deps),
    logout: logout(deps),
    listSessions: listSessions(deps),
    endSession: endSession(deps),
    endOtherSessions: endOtherSessions(deps),
  };
}

/** A token of the session's current generation. */
export async function signFor(deps: ControlDeps, session: Session): Promise<{ token: string; expiresAt: Date }> {
  const { id, userId, generation = 0 } = session;
  const { token, expiresAt } = await deps.tokens.sign({ sessionId: id, userId, generation });
  return { token, expiresAt: date(expiresAt) };
}

const refreshToken =
  (deps: ControlDeps): Handlers["refreshToken"] =>
  async (_request, context) => {
    const before = await repeatedRefresh(deps, context);
    if (before) return before;
    // Asked again: the first refresh may have been written since, and then the write below returns its answer.
    const actor = await requireActor(deps, context, async () => (await repeatedRefresh(deps, context)) !== undefined);
    const { generation } = await deps.tokens.verify(tokenOf(context));
    let isReused = false;
    const work = write(deps, context, { actor, codec: RefreshTokenResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const session = await tx.get("sessions", actor.session.id);
      // Read again in the transaction: of parallel refreshes of one token only one may replace it.
      isReused = session !== undefined && isReplaced(session, generation) && !isInFlight(deps, context, session, generation);
      if (!session || session.revokedAt !== undefined || isReused)
        throw new AppError("UNAUTHORIZED", "The session has ended. Log in again.");
      if (isReplaced(session, generation)) return signFor(deps, session);
      const refreshed = { ...session, generation: generation + 1, refreshedAt: now, ...clientOf(context) };
      await tx.put("sessions", refreshed);
      await audit({ action: "session.refresh", target: session.id });
      return signFor(deps, refreshed);
    });
    return work.catch((thrown: unknown) => {
      if (isReused) return endReusedSession(deps, context, actor.session);
      throw thrown;
    });
  };

/** The answer of the same refresh, for a client that repeats it at once with its Idempotency-Key, because it got no answer. */
async function repeatedRefresh(deps: ControlDeps, context: CallContext): Promise<RefreshTokenResponse | undefined> {
  const { sessionId, userId, generation } = await deps.tokens.verify(tokenOf(context));
  const session = await deps.store.get("sessions", sessionId);
  if (!session || session.revokedAt !== undefined || !isJustReplaced(session, generation, deps.clock.now())) return undefined;
  return replayOf(deps, context, { actor: { user: { id: userId } }, codec: RefreshTokenResponse });
}

const tokenOf = (context: CallContext): string => context.metadata["authorization"] ?? "";

const logout =
  (deps: ControlDeps): Handlers["logout"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    return write(deps, context, { actor, codec: LogoutResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const session = (await tx.get("sessions", actor.session.id)) ?? actor.session;
      await tx.put("sessions", { ...session, revokedAt: now });
      await audit({ action: "session.close", target: actor.session.id });
      return {};
    });
  };

const listSessions =
  (deps: ControlDeps): Handlers["listSessions"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const page = pageOf(request.page);
    const now = deps.clock.now();
    const { records, total } = await readPage(deps.store, "sessions", {
      ...page,
      range: { index: "byUser", equals: [actor.user.id], reverse: true },
      where: (session) => isAlive(session, now),
    });
    return { sessions: records.map((session) => sessionMessage(session, actor.session.id)), meta: metaOf(page, total) };
  };

function sessionMessage(session: Session, currentId: string): SessionMessage {
  const { id, createdAt, refreshedAt, expiresAt, userAgent, address } = session;
  return {
    id,
    createdAt: date(createdAt),
    lastUsedAt: date(refreshedAt ?? createdAt),
    expiresAt: date(expiresAt),
    userAgent,
    address,
    current: id === currentId,
  };
}

const endSession =
  (deps: ControlDeps): Handlers["endSession"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    return write(deps, context, { actor, codec: EndSessionResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const session = await tx.get("sessions", request.id);
      if (session?.userId !== actor.user.id || !isAlive(session, now)) {
        throw new AppError("NOT_FOUND", "The session does not exist or has ended.");
      }
      await tx.put("sessions", { ...session, revokedAt: now });
      await audit({ action: "session.close", target: session.id });
      return {};
    });
  };

const endOtherSessions =
  (deps: ControlDeps): Handlers["endOtherSessions"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    return write(deps, context, { actor, codec: EndOtherSessionsResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const ended = await endSessions(tx, actor.user.id, now, actor.session.id);
      await audit({ action: "session.close-others", target: String(actor.user.id), details: { ended } });
      return { ended };
    });
  };
