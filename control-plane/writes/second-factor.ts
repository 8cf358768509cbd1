import { AppError } from "../../common/errors.ts";
import type { Secrets } from "../crypto/secrets.ts";
import { stepOfCode } from "../crypto/totp.ts";
import { type ActiveSecondFactor, recoveryText, type SecondFactor } from "../domain/second-factor.ts";
import type { Transaction } from "../stores/store.ts";

/** The log-in needs a code that was not sent. It does not use up an attempt, because the password was right. */
export class OtpMissing extends AppError {
  constructor() {
    super("UNAUTHORIZED", "This account has two-factor authentication. Send `otp`: a code of the authenticator app, or a recovery code.", {
      details: [{ path: "otp", message: "is required" }],
    });
  }
}

/** The code is wrong, too old, or was used before. */
export class OtpWrong extends AppError {
  constructor() {
    super("UNAUTHORIZED", "The two-factor code is wrong, has expired or was used already. Wait for the next code of the app.", {
      details: [{ path: "otp", message: "is wrong or was used already" }],
    });
  }
}

/** How a code was accepted, and the second factor after it. */
interface UsedCode {
  kind: "totp" | "recovery";
  factor: ActiveSecondFactor;
}

/** Accepts a TOTP code or a recovery code once: the transaction that accepts it also marks it as used. */
export async function useCode(
  tx: Transaction,
  { factor, otp, secrets }: { factor: ActiveSecondFactor; otp: string; secrets: Secrets },
  now: number,
): Promise<UsedCode> {
  const used = usedCode(factor, { otp, secrets, now });
  if (!used) throw new OtpWrong();
  await tx.put("secondFactors", used.factor);
  return used;
}

function usedCode(factor: ActiveSecondFactor, { otp, secrets, now }: { otp: string; secrets: Secrets; now: number }): UsedCode | undefined {
  const step = stepOfCode(openSecret(secrets, factor), otp, now);
  if (step !== undefined) return step > factor.lastStep ? { kind: "totp", factor: { ...factor, lastStep: step } } : undefined;
  const hash = secrets.tokenHash(recoveryText(factor.id, otp));
  if (!factor.recoveryHashes.includes(hash)) return undefined;
  return { kind: "recovery", factor: { ...factor, recoveryHashes: factor.recoveryHashes.filter((known) => known !== hash) } };
}

export async function activeFactor(tx: Pick<Transaction, "get">, userId: number): Promise<ActiveSecondFactor | undefined> {
  const factor = await tx.get("secondFactors", userId);
  return factor?.state === "active" ? factor : undefined;
}

export const openSecret = (secrets: Secrets, { sealedSecret }: SecondFactor): string => secrets.open(sealedSecret).toString("utf8");

export const hashRecoveryCodes = (secrets: Secrets, userId: number, codes: readonly string[]): string[] =>
  codes.map((code) => secrets.tokenHash(recoveryText(userId, code)));
