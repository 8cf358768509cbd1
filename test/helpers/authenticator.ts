import { setTimeout as sleep } from "node:timers/promises";
import { Secret, TOTP } from "otpauth";
import { type Answer, call } from "./api.ts";

const STEP_MS = 30_000;
/** A code that expires within this time could be too old when it arrives. */
const SAFETY_MS = 5_000;

/** An authenticator app. */
export interface Authenticator {
  /** A code that was not given before. Three are there at once; then it waits for the next time step. */
  next(): Promise<string>;
}

export function authenticator(secret: string): Authenticator {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  let last = 0;
  return {
    async next() {
      // The server accepts the step before the current one and the one after it, and each step once.
      last = Math.max(last + 1, Math.floor((Date.now() + SAFETY_MS) / STEP_MS) - 1);
      await sleep(Math.max(0, (last - 1) * STEP_MS - Date.now()));
      return totp.generate({ timestamp: last * STEP_MS });
    },
  };
}

/** Turns two-factor authentication on for a user. */
export async function enableTotp(
  system: { url: string },
  { token, password }: { token: string; password: string },
): Promise<{ app: Authenticator; secret: string; recoveryCodes: string[]; confirmed: Answer }> {
  const made = await call(system.url, "POST", "/api/auth/totp", { token, body: { password } });
  if (made.status !== 201) throw new Error(`the set-up answered ${made.status}: ${made.text}`);
  const { secret } = made.body;
  const app = authenticator(secret);
  const confirmed = await call(system.url, "POST", "/api/auth/totp/confirm", { token, body: { otp: await app.next() } });
  if (confirmed.status !== 200) throw new Error(`the confirmation answered ${confirmed.status}: ${confirmed.text}`);
  return { app, secret, recoveryCodes: confirmed.body.recoveryCodes, confirmed };
}
