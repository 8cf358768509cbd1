import { Secret, TOTP } from "otpauth";
import type { Random } from "../../common/random.ts";
import { compactCode, isTotpCode } from "../domain/second-factor.ts";

const STEP_SECONDS = 30;
/** Accepted steps before and after the current one, for clocks that differ and people who type slowly. */
const WINDOW_STEPS = 1;
// The parameters of RFC 6238 that every authenticator app supports; some ignore others.
const PARAMETERS = { issuer: "Tributary", algorithm: "SHA1", digits: 6, period: STEP_SECONDS } as const;
const SECRET_BYTES = 20;

/** A new secret, in Base32. */
export function newTotpSecret(random: Random): string {
  return Secret.fromHex(random.bytes(SECRET_BYTES).toString("hex")).base32;
}

/** The URL that authenticator apps read from a QR code. */
export function otpauthUrl({ secret, email }: { secret: string; email: string }): string {
  return totpOf(secret, email).toString();
}

/** The time step for which a code is right at this time; undefined if it is wrong. */
export function stepOfCode(secret: string, otp: string, now: number): number | undefined {
  if (!isTotpCode(otp)) return undefined;
  const delta = totpOf(secret).validate({ token: compactCode(otp), timestamp: now, window: WINDOW_STEPS });
  return delta === null ? undefined : Math.floor(now / 1000 / STEP_SECONDS) + delta;
}

function totpOf(secret: string, label = ""): TOTP {
  return new TOTP({ ...PARAMETERS, label, secret: Secret.fromBase32(secret) });
}
