import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  ConfirmTotpResponse,
  DisableTotpResponse,
  type IdentityServiceService,
  RenewRecoveryCodesResponse,
  ResetUserTotpResponse,
  SetUpTotpResponse,
} from "../../../proto/gen/tributary/identity/v1/identity.ts";
import { newTotpSecret, otpauthUrl, stepOfCode } from "../../crypto/totp.ts";
import type { User } from "../../domain/records.ts";
import { type ActiveSecondFactor, isTotpCode, newRecoveryCodes } from "../../domain/second-factor.ts";
import type { Transaction } from "../../stores/store.ts";
import { endSessions } from "../../writes/accounts.ts";
import { activeFactor, hashRecoveryCodes, OtpMissing, OtpWrong, openSecret, useCode } from "../../writes/second-factor.ts";
import { type Actor, requireActor, requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { type ResponseCodec, type WriteScope, write } from "../write.ts";
import { countCode, countLogin, requirePassword } from "./attempts.ts";
import { requireUser } from "./users.ts";

type Handlers = ServiceHandlers<typeof IdentityServiceService>;
type TotpHandlers = Pick<Handlers, "getTotp" | "setUpTotp" | "confirmTotp" | "renewRecoveryCodes" | "disableTotp" | "resetUserTotp">;

/** TOTP as the second factor of a user's log-in. */
export function totpHandlers(deps: ControlDeps): TotpHandlers {
  return {
    getTotp: getTotp(deps),
    setUpTotp: setUpTotp(deps),
    confirmTotp: confirmTotp(deps),
    renewRecoveryCodes: renewRecoveryCodes(deps),
    disableTotp: disableTotp(deps),
    resetUserTotp: resetUserTotp(deps),
  };
}

/** Asks for a code at the log-in of a user who has a second factor. */
export async function passSecondFactor(
  deps: ControlDeps,
  { tx, now, audit }: WriteScope,
  { user, otp }: { user: User; otp: string | undefined },
): Promise<void> {
  const factor = await activeFactor(tx, user.id);
  if (!factor) return;
  if (otp === undefined) throw new OtpMissing();
  const used = await useCode(tx, { factor, otp, secrets: deps.secrets }, now);
  if (used.kind === "totp") return;
  const details = { left: used.factor.recoveryHashes.length };
  await audit({ action: "totp.recovery_used", target: String(user.id), organizationId: user.organizationId, actorId: user.id, details });
}

const getTotp =
  (deps: ControlDeps): Handlers["getTotp"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    const factor = await activeFactor(deps.store, actor.user.id);
    return { enabled: factor !== undefined, recoveryCodesLeft: factor?.recoveryHashes.length ?? 0 };
  };

/** Needs the password: a stolen session must not lock its owner out. */
const setUpTotp =
  (deps: ControlDeps): Handlers["setUpTotp"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await requirePassword(deps, context, actor.user, request.password);
    return write(deps, context, { actor, codec: SetUpTotpResponse, scopes: "identity" }, async ({ tx, now, audit }) => {
      const { id, email } = actor.user;
      if (await activeFactor(tx, id)) throw alreadyOn();
      const secret = newTotpSecret(deps.random);
      const sealedSecret = deps.secrets.seal(Buffer.from(secret, "utf8"));
      await tx.put("secondFactors", { id, state: "pending", sealedSecret, createdAt: now });
      await audit({ action: "totp.setup", target: String(id) });
      return { secret, otpauthUrl: otpauthUrl({ secret, email }) };
    });
  };

const confirmTotp =
  (deps: ControlDeps): Handlers["confirmTotp"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const { user, session } = actor;
    const confirm = async ({ tx, now, audit }: WriteScope) => {
      const factor = await tx.get("secondFactors", user.id);
      if (factor?.state === "active") throw alreadyOn();
      if (!factor)
        throw new AppError("NOT_FOUND", "Two-factor authentication is not set up. Set it up first, then confirm it with a code.");
      const step = stepOfCode(openSecret(deps.secrets, factor), request.otp, now);
      if (step === undefined) throw new OtpWrong();
      const recoveryCodes = newRecoveryCodes(deps.random);
      const recoveryHashes = hashRecoveryCodes(deps.secrets, user.id, recoveryCodes);
      await tx.put("secondFactors", { ...factor, state: "active", enabledAt: now, lastStep: step, recoveryHashes });
      // Sessions that were opened with the password alone end; the caller's has just shown a code.
      const endedSessions = await endSessions(tx, user.id, now, session.id);
      await audit({ action: "totp.enable", target: String(user.id), details: { endedSessions } });
      return { recoveryCodes };
    };
    return writeWithCode(deps, context, { actor, codec: ConfirmTotpResponse }, confirm);
  };

/** Takes a code of the app only: one stolen recovery code must not become ten. */
const renewRecoveryCodes =
  (deps: ControlDeps): Handlers["renewRecoveryCodes"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const { user } = actor;
    const renew = async ({ tx, now, audit }: WriteScope) => {
      const factor = await requireActive(tx, user.id);
      if (!isTotpCode(request.otp)) throw new OtpWrong();
      const used = await useCode(tx, { factor, otp: request.otp, secrets: deps.secrets }, now);
      const recoveryCodes = newRecoveryCodes(deps.random);
      await tx.put("secondFactors", { ...used.factor, recoveryHashes: hashRecoveryCodes(deps.secrets, user.id, recoveryCodes) });
      await audit({ action: "totp.recovery_codes", target: String(user.id) });
      return { recoveryCodes };
    };
    return writeWithCode(deps, context, { actor, codec: RenewRecoveryCodesResponse }, renew);
  };

const disableTotp =
  (deps: ControlDeps): Handlers["disableTotp"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const { user } = actor;
    if (!isTotpCode(request.otp) && request.password === undefined) {
      throw new AppError(
        "VALIDATION_ERROR",
        "With a recovery code, the current password is needed to turn two-factor authentication off.",
        {
          details: [{ path: "body.password", message: "is required with a recovery code" }],
        },
      );
    }
    if (request.password !== undefined) await requirePassword(deps, context, user, request.password);
    const disable = async ({ tx, now, audit }: WriteScope) => {
      const factor = await requireActive(tx, user.id);
      const { kind } = await useCode(tx, { factor, otp: request.otp, secrets: deps.secrets }, now);
      await tx.remove("secondFactors", user.id);
      await audit({ action: "totp.disable", target: String(user.id), details: { with: kind } });
      return {};
    };
    return writeWithCode(deps, context, { actor, codec: DisableTotpResponse }, disable);
  };

/** For a user who has neither the device nor a recovery code; the admin checks by other means who asks. */
const resetUserTotp =
  (deps: ControlDeps): Handlers["resetUserTotp"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    return write(deps, context, { actor, codec: ResetUserTotpResponse, scopes: "identity" }, async ({ tx, audit }) => {
      const { id, organizationId } = await requireUser(tx, request.id);
      await requireActive(tx, id);
      await tx.remove("secondFactors", id);
      await audit({ action: "totp.reset", target: String(id), organizationId });
      return {};
    });
  };

/** A write of a user with a session that checks a code: its attempts are limited as those of a log-in. */
function writeWithCode<Response>(
  deps: ControlDeps,
  context: CallContext,
  options: { actor: Actor; codec: ResponseCodec<Response> },
  work: (scope: WriteScope) => Promise<Response>,
): Promise<Response> {
  const { user } = options.actor;
  return countLogin(deps, context, user.email, () =>
    countCode(deps, context, user, () => write(deps, context, { ...options, scopes: "identity" }, work)),
  );
}

async function requireActive(tx: Transaction, userId: number): Promise<ActiveSecondFactor> {
  const factor = await activeFactor(tx, userId);
  if (!factor) throw new AppError("NOT_FOUND", "Two-factor authentication is not on.");
  return factor;
}

function alreadyOn(): AppError {
  return new AppError("ALREADY_EXISTS", "Two-factor authentication is on already. Turn it off before you set it up again.");
}
