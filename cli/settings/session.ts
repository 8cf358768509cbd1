import { createHash } from "node:crypto";
import { fromJson } from "../../common/json.ts";
import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { valueAt } from "../output/values.ts";
import type { Settings } from "./settings.ts";

/** A token is renewed at the first call in the second half of its lifetime, so that a session in use does not expire. */
const RENEW_BELOW = 0.5;
const RENEW_MAX_MS = 5000;

/** The token to send, renewed and stored in the second half of its lifetime. GW_TOKEN is used unchanged. */
export async function freshToken(io: Io, settings: Settings): Promise<string | undefined> {
  const { token, stored } = settings;
  if (!token || token.value !== stored?.token) return token?.value;
  const expiresMs = Date.parse(stored.expiresAt ?? "");
  const obtainedMs = Date.parse(stored.obtainedAt ?? "");
  const left = expiresMs - io.nowMs();
  // An expired token is still sent, because the server's error is more exact.
  if (!(left > 0) || left > (expiresMs - obtainedMs) * RENEW_BELOW) return token.value;
  return (await renewed(settings, token.value, io)) ?? token.value;
}

async function renewed(settings: Settings, token: string, io: Io): Promise<string | undefined> {
  // The key is the token's: parallel commands that renew the same token get the same new one, and so does a retry after a lost answer.
  const key = `gw-renew-${createHash("sha256").update(token).digest("hex")}`;
  const send = () =>
    fetch(`${settings.apiUrl.value}/api/auth/token/refresh`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "idempotency-key": key },
      signal: AbortSignal.any([io.signal, AbortSignal.timeout(RENEW_MAX_MS)]),
    });
  try {
    const response = await send().catch(send);
    return response.ok ? saveSession(settings, fromJson(await response.text()), io) : undefined;
  } catch {
    // The current token is most likely still valid, and the call itself reports an unreachable server.
    return undefined;
  }
}

/** Stores the session that login, signup and refresh return. */
export function saveSession(settings: Settings, body: unknown, { nowMs }: Pick<Io, "nowMs">, email?: string): string {
  const token = String(valueAt(body, "token"));
  settings.store({
    token,
    expiresAt: String(valueAt(body, "expiresAt")),
    obtainedAt: new Date(nowMs()).toISOString(),
    ...(email === undefined ? {} : { email }),
  });
  return token;
}

export function notLoggedIn({ apiUrl, profile }: Settings): CliError {
  return new CliError(EXIT.notLoggedIn, {
    error: `Not logged in at ${apiUrl.value} (profile ${profile}).`,
    code: "NOT_LOGGED_IN",
    hint: "Run `gw auth login`, or `gw auth signup` for a new account.",
  });
}
