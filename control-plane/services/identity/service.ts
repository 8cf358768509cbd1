import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  ChangePasswordResponse,
  CreateTokenResponse,
  type IdentityServiceService,
  RequestPasswordResetResponse,
  ResetPasswordResponse,
  SignUpResponse,
} from "../../../proto/gen/tributary/identity/v1/identity.ts";
import { checkNewPassword } from "../../domain/password-rule.ts";
import type { User } from "../../domain/records.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import { accountScopes, createAccount, endSessions, newOrganizationId, openSession } from "../../writes/accounts.ts";
import { acceptInvitation, isMailedToken, requireInvitation } from "../../writes/invitations.ts";
import { requireActor, requireEnabled } from "../actor.ts";
import { clientOf, limitByAddress } from "../client.ts";
import type { ControlDeps } from "../deps.ts";
import { organizationMessage, teamMessage, userMessage, userWithBudget } from "../messages.ts";
import { replayOf, write } from "../write.ts";
import { countCode, countLogin, currentPasswordWrong, requirePassword } from "./attempts.ts";
import { emailVerificationHandlers, putVerification, sendVerificationMail, verifiesAddresses } from "./email-verification.ts";
import { oidcHandlers } from "./oidc.ts";
import { putReset, removeResets, resetMail, userOfReset } from "./password-reset.ts";
import { sessionHandlers, signFor } from "./sessions.ts";
import { passSecondFactor, totpHandlers } from "./totp.ts";
import { userAccessHandlers } from "./user-access.ts";
import { usersHandlers } from "./users.ts";

/** The same text for an unknown e-mail address, so that a client cannot learn which addresses have an account. */
const LOG_IN_WRONG = "E-mail or password is wrong.";

type Handlers = ServiceHandlers<typeof IdentityServiceService>;

/**
 * Sign-up, log-in and passwords. Sessions, verification of addresses, OpenID Connect, the second factor and the admin's view of users have
 * their own files.
 */
export function identityHandlers(deps: ControlDeps): Handlers {
  return {
    ...usersHandlers(deps),
    ...userAccessHandlers(deps),
    ...sessionHandlers(deps),
    ...totpHandlers(deps),
    ...emailVerificationHandlers(deps),
    ...oidcHandlers(deps),
    signUp: signUp(deps),
    createToken: createToken(deps),
    getMe: getMe(deps),
    changePassword: changePassword(deps),
    requestPasswordReset: requestPasswordReset(deps),
    resetPassword: resetPassword(deps),
  };
}

const signUp =
  (deps: ControlDeps): Handlers["signUp"] =>
  async (request, context) => {
    const email = request.email.toLowerCase();
    checkNewPassword({ password: request.password, email, isCommon: deps.isCommonPassword, field: "password" });
    // Counted before the password is hashed, which is expensive, and also if the address is taken, which a stranger could ask for.
    limitByAddress(deps, context, "signUp");
    const passwordHash = await deps.passwords.hash(request.password);
    const name = request.name ?? email.split("@")[0] ?? email;
    let verification: string | undefined;
    const organizationId = newOrganizationId(deps.store, deps);
    const scopes = accountScopes(deps.store, organizationId);
    const response = await write(deps, context, { actor: undefined, codec: SignUpResponse, scopes }, async ({ tx, now, audit }) => {
      await refuseTaken(tx, email);
      const given = { token: request.inviteToken ?? "", email, hashToken: deps.secrets.tokenHash };
      const invitation = request.inviteToken === undefined ? undefined : await requireInvitation(tx, given, now);
      const isEmailVerified = invitation !== undefined && isMailedToken(invitation, given);
      const isVerifiedLater = !isEmailVerified && verifiesAddresses(deps);
      const { user, organization, team } = await createAccount(tx, deps, {
        email,
        name,
        organizationId,
        organizationName: request.organizationName ?? `${name}'s organization`,
        passwordHash,
        role: "user",
        grant: deps.config.signupGrantNanoUsd,
        isEmailVerified,
        grantWaits: isVerifiedLater,
      });
      verification = isVerifiedLater ? await putVerification(tx, deps, user) : undefined;
      if (invitation) await acceptInvitation(tx, invitation, user, now);
      const session = await openSession(tx, deps, user, clientOf(context));
      await audit({ action: "user.signup", target: String(user.id), organizationId: organization.id, actorId: user.id });
      return {
        user: userMessage(user),
        organization: await organizationMessage(tx, organization, { role: "owner", activeId: organization.id, now: deps.clock.now() }),
        team: await teamMessage(tx, team, now),
        ...(await signFor(deps, session)),
      };
    });
    // After the commit, and not for a replayed request.
    if (verification !== undefined) void sendVerificationMail(deps, { email, token: verification });
    return response;
  };

async function refuseTaken(tx: Transaction, email: string): Promise<void> {
  if (!(await tx.find("users", "byEmail", [email]))) return;
  throw new AppError("ALREADY_EXISTS", "An account with this e-mail address exists already. Log in instead.", {
    details: [{ path: "body.email", message: "is taken" }],
  });
}

const createToken =
  (deps: ControlDeps): Handlers["createToken"] =>
  async (request, context) => {
    const email = request.email.toLowerCase();
    const user = await deps.store.find("users", "byEmail", [email]);
    return countLogin(deps, context, email, async () => {
      const isRight = await deps.passwords.verify(request.password, user?.passwordHash);
      if (!isRight || !user) throw new AppError("UNAUTHORIZED", LOG_IN_WRONG);
      const open = () =>
        write(deps, context, { actor: undefined, codec: CreateTokenResponse, scopes: "identity" }, async (scope) => {
          const { tx, now, audit } = scope;
          // Read again in the transaction: a session must not be opened with a password that was changed in between.
          const current = await tx.get("users", user.id);
          if (current?.passwordHash !== user.passwordHash) throw new AppError("UNAUTHORIZED", LOG_IN_WRONG);
          await passSecondFactor(deps, scope, { user, otp: request.otp });
          // After both factors: only the user learns it, and an attempt is not counted as a wrong one.
          requireEnabled(current);
          await tx.put("users", { ...current, lastLoginAt: now });
          const session = await openSession(tx, deps, user, clientOf(context));
          const { id: actorId, organizationId } = user;
          await audit({ action: "session.open", target: session.id, organizationId, actorId, details: { userId: actorId } });
          return signFor(deps, session);
        });
      return request.otp === undefined ? open() : countCode(deps, context, user, open);
    });
  };

const getMe =
  (deps: ControlDeps): Handlers["getMe"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    const organization = await deps.store.get("organizations", actor.organizationId);
    if (!organization) throw new AppError("NOT_FOUND", "The organization does not exist.");
    return {
      canVerifyEmail: actor.user.emailVerifiedAt === undefined && verifiesAddresses(deps),
      user: await userWithBudget(deps.store, actor.user, deps.clock.now()),
      organization: await organizationMessage(deps.store, organization, {
        role: actor.organizationRole,
        activeId: organization.id,
        now: deps.clock.now(),
      }),
    };
  };

const changePassword =
  (deps: ControlDeps): Handlers["changePassword"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const before = await replayOf(deps, context, { actor, codec: ChangePasswordResponse });
    if (before) return before;
    checkNewPassword({ password: request.newPassword, email: actor.user.email, isCommon: deps.isCommonPassword, field: "newPassword" });
    await requirePassword(deps, context, actor.user, request.currentPassword);
    const passwordHash = await deps.passwords.hash(request.newPassword);
    return write(deps, context, { actor, codec: ChangePasswordResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const user = await tx.get("users", actor.user.id);
      if (user?.passwordHash !== actor.user.passwordHash) throw currentPasswordWrong();
      await tx.put("users", { ...user, passwordHash });
      await endSessions(tx, actor.user.id, now, actor.session.id);
      await removeResets(tx, actor.user.id, now);
      await audit({ action: "user.password.change", target: String(actor.user.id) });
      return signFor(deps, actor.session);
    });
  };

const requestPasswordReset =
  (deps: ControlDeps): Handlers["requestPasswordReset"] =>
  async (request, context) => {
    limitByAddress(deps, context, "resetMail");
    const email = request.email.toLowerCase();
    const user = await deps.store.find("users", "byEmail", [email]);
    // The answer and its timing do not reveal whether the address is known; the mail is sent afterward.
    let link: string | undefined;
    const response = await write(
      deps,
      context,
      { actor: undefined, codec: RequestPasswordResetResponse, scopes: "identity" },
      async ({ tx, now, audit }) => {
        ({ link } = await putReset(deps, tx, user, now));
        await audit({ action: "user.password.reset-request", target: user ? String(user.id) : "unknown" });
        return {};
      },
    );
    // A replayed request stored no token, so its mail would contain a link that does not work.
    if (user && link !== undefined) void deps.mailer.send(resetMail(user, link));
    return response;
  };

const resetPassword =
  (deps: ControlDeps): Handlers["resetPassword"] =>
  async (request, context) => {
    const before = await replayOf(deps, context, { actor: undefined, codec: ResetPasswordResponse });
    if (before) return before;
    // Hashing is expensive, and log-ins wait for their turn at it: a stranger gets none by an invented link, and few by a real one.
    limitByAddress(deps, context, "passwordReset");
    const check = async (reader: Reader, now: number): Promise<User> => {
      const user = await userOfReset(deps, reader, { token: request.resetToken, now });
      // Checked before the tokens are removed, so that the user can try again with the same link.
      checkNewPassword({ password: request.newPassword, email: user.email, isCommon: deps.isCommonPassword, field: "newPassword" });
      return user;
    };
    await check(deps.store, deps.clock.now());
    const passwordHash = await deps.passwords.hash(request.newPassword);
    return write(deps, context, { actor: undefined, codec: ResetPasswordResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const user = await check(tx, now);
      await removeResets(tx, user.id, now);
      await tx.put("users", { ...user, passwordHash });
      await endSessions(tx, user.id, now);
      await audit({ action: "user.password.reset", target: String(user.id), organizationId: user.organizationId, actorId: user.id });
      return {};
    });
  };
