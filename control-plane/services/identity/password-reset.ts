import { AppError } from "../../../common/errors.ts";
import type { User } from "../../domain/records.ts";
import type { Mail } from "../../mail/mailer.ts";
import { collect } from "../../stores/page.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import type { ControlDeps } from "../deps.ts";

const RESET_LIFE_MS = 3_600_000;

/** Stores a new token that sets the password of a user, and returns its link. Without a user it stores nothing. */
export async function putReset(
  deps: ControlDeps,
  tx: Transaction,
  user: User | undefined,
  now: number,
): Promise<{ link: string; expiresAt: number }> {
  const token = deps.random.bytes(32).toString("base64url");
  const expiresAt = now + RESET_LIFE_MS;
  if (user) await tx.put("passwordResets", { id: deps.secrets.tokenHash(token), userId: user.id, expiresAt });
  return { link: `${deps.config.publicUrl}/ui/reset-password?token=${token}`, expiresAt };
}

/** The user whose password a token sets. Throws VALIDATION_ERROR for one that does not work, or no longer. */
export async function userOfReset(deps: ControlDeps, reader: Reader, { token, now }: { token: string; now: number }): Promise<User> {
  const reset = await reader.get("passwordResets", deps.secrets.tokenHash(token));
  const user = reset && reset.expiresAt > now ? await reader.get("users", reset.userId) : undefined;
  if (!user) throw new AppError("VALIDATION_ERROR", "The reset link is not valid or has expired. Request a new one.");
  return user;
}

/** Removes all links of a user: an old one may be in other hands. Those of all users that still work are few, because they expire soon. */
export async function removeResets(tx: Transaction, userId: number, now: number): Promise<void> {
  const working = await collect(tx.scan("passwordResets", { index: "byExpiry", from: now }));
  for (const reset of working) if (reset.userId === userId) await tx.remove("passwordResets", reset.id);
}

export function resetMail(user: User, link: string): Mail {
  return {
    to: user.email,
    subject: "Reset your Tributary password",
    text: `A password reset was requested for ${user.email}. To choose a new password, open this link within one hour:\n\n${link}\n\nIf you did not request it, ignore this mail.`,
  };
}
