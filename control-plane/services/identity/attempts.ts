import { AppError } from "../../../common/errors.ts";
import type { CallContext } from "../../../common/grpc/server.ts";
import type { LoginAttempt } from "../../domain/login-attempts.ts";
import type { User } from "../../domain/records.ts";
import { writeAudit } from "../../writes/audit.ts";
import { OtpMissing, OtpWrong } from "../../writes/second-factor.ts";
import { clientAddress } from "../client.ts";
import type { ControlDeps } from "../deps.ts";

/** Runs a check of credentials within the allowed attempts of an account. Only wrong credentials use up an attempt. */
export function countLogin<T>(deps: ControlDeps, context: CallContext, email: string, check: () => Promise<T>): Promise<T> {
  const attempt = deps.loginAttempts.begin({ account: email, address: clientAddress(context) }, deps.clock.monotonicMs());
  return counted(
    attempt,
    (thrown) => thrown instanceof AppError && thrown.code === "UNAUTHORIZED" && !(thrown instanceof OtpMissing),
    check,
  );
}

/**
 * Runs a check of a two-factor code within the allowed codes of an account, beside the attempts of `countLogin`. A wrong code is in the
 * audit log: at a log-in it means that another person knows the password.
 */
export async function countCode<T>(deps: ControlDeps, context: CallContext, user: User, check: () => Promise<T>): Promise<T> {
  const attempt = deps.loginAttempts.beginCode({ account: user.id, passwordHash: user.passwordHash }, deps.clock.monotonicMs());
  try {
    return await counted(attempt, (thrown) => thrown instanceof OtpWrong, check);
  } catch (thrown) {
    if (thrown instanceof OtpWrong) await auditRefusal(deps, context, user);
    throw thrown;
  }
}

/** Checks the password of a user who has a session. */
export async function requirePassword(deps: ControlDeps, context: CallContext, user: User, password: string): Promise<void> {
  await countLogin(deps, context, user.email, async () => {
    if (!(await deps.passwords.verify(password, user.passwordHash))) throw currentPasswordWrong();
  });
}

export const currentPasswordWrong = (): AppError => new AppError("UNAUTHORIZED", "The current password is wrong.");

async function counted<T>(attempt: LoginAttempt, isWrong: (thrown: unknown) => boolean, check: () => Promise<T>): Promise<T> {
  if (!("giveBack" in attempt)) {
    const seconds = Math.ceil(attempt.waitMs / 1000);
    throw new AppError("LOGIN_THROTTLED", `Too many log-in attempts. Try again in ${seconds} seconds.`, { retryAfterSeconds: seconds });
  }
  let usesUp = false;
  try {
    return await check();
  } catch (thrown) {
    usesUp = isWrong(thrown);
    throw thrown;
  } finally {
    if (!usesUp) attempt.giveBack();
  }
}

async function auditRefusal(deps: ControlDeps, context: CallContext, { id, organizationId }: User): Promise<void> {
  const requestId = context.metadata["x-request-id"] ?? "";
  const entry = { actorKind: "anonymous", action: "totp.refused", target: String(id), organizationId, requestId } as const;
  await deps.store.transaction("audit", (tx) => writeAudit(tx, entry, deps.clock.now()));
}
