import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  CreatePasswordResetResponse,
  type IdentityServiceService,
  SetUserDisabledResponse,
} from "../../../proto/gen/tributary/identity/v1/identity.ts";
import type { User } from "../../domain/records.ts";
import type { Transaction } from "../../stores/store.ts";
import { endSessions } from "../../writes/accounts.ts";
import { appendChange } from "../../writes/feed.ts";
import { setKeysDisabledWithUser } from "../../writes/keys.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date, userWithBudget } from "../messages.ts";
import { type WriteScope, write } from "../write.ts";
import { putReset, removeResets, resetMail } from "./password-reset.ts";
import { refuseLastAdmin, requireUser } from "./users.ts";

type Handlers = ServiceHandlers<typeof IdentityServiceService>;

/** Handlers for platform admins: whether a user has access, and a link that sets a new password. */
export function userAccessHandlers(deps: ControlDeps): Pick<Handlers, "setUserDisabled" | "createPasswordReset"> {
  return { setUserDisabled: setUserDisabled(deps), createPasswordReset: createPasswordReset(deps) };
}

const setUserDisabled =
  (deps: ControlDeps): Handlers["setUserDisabled"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    return write(deps, context, { actor, codec: SetUserDisabledResponse, scopes: "identity" }, async (scope) => {
      const { tx, now, audit } = scope;
      const user = await requireUser(tx, request.id);
      const changed = request.disabled
        ? await disable(scope, { user, actorId: actor.user.id })
        : { user: await enable(tx, user), sessions: 0 };
      // Keys that others rotated since the user was disabled are theirs, and stay.
      const isRepeated = request.disabled && user.disabledAt !== undefined;
      const keys = isRepeated ? 0 : await setKeysDisabledWithUser(tx, { userId: user.id, disabledAt: changed.user.disabledAt }, now);
      await appendChange(tx, { kind: "user", subject: String(user.id) }, now);
      await audit({
        action: request.disabled ? "user.disable" : "user.enable",
        target: String(user.id),
        organizationId: user.organizationId,
        details: { reason: request.reason, sessions: changed.sessions, keys },
      });
      return { user: await userWithBudget(tx, changed.user, now), sessions: changed.sessions, keys };
    });
  };

async function disable({ tx, now }: WriteScope, { user, actorId }: { user: User; actorId: number }) {
  if (user.id === actorId) throw new AppError("VALIDATION_ERROR", "You cannot disable your own account. Ask another administrator.");
  if (user.role === "admin" && user.disabledAt === undefined) await refuseLastAdmin(tx);
  const disabled: User = { ...user, disabledAt: user.disabledAt ?? now };
  await tx.put("users", disabled);
  await removeResets(tx, user.id, now);
  return { user: disabled, sessions: await endSessions(tx, user.id, now) };
}

async function enable(tx: Transaction, { disabledAt: _, ...user }: User): Promise<User> {
  await tx.put("users", user);
  return user;
}

const createPasswordReset =
  (deps: ControlDeps): Handlers["createPasswordReset"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    const isMailed = deps.config.mail.smtpUrl !== undefined;
    let sendMail: (() => void) | undefined;
    const response = await write(
      deps,
      context,
      { actor, codec: CreatePasswordResetResponse, scopes: "identity" },
      async ({ tx, now, audit }) => {
        const user = await requireUser(tx, request.id);
        const { link, expiresAt } = await putReset(deps, tx, user, now);
        sendMail = () => void deps.mailer.send(resetMail(user, link));
        await audit({
          action: "user.password.reset-link",
          target: String(user.id),
          organizationId: user.organizationId,
          details: { mailed: isMailed },
        });
        return { link: isMailed ? undefined : link, expiresAt: date(expiresAt) };
      },
    );
    // After the commit, and not for a replayed request.
    if (isMailed) sendMail?.();
    return response;
  };
