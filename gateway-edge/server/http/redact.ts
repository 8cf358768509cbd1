import type { Fields } from "../../upstream/providers/provider.ts";

const MASK = "****";

// Names of secrets, independent of their value.
const SECRET_NAME = /key|secret|password|passphrase|credential|authorization|cookie|signature/i;
const TOKEN_NAME = /token/i;
// Limits, costs per token and fields that LiteLLM shows on purpose.
const HARMLESS_NAME =
  /^(default_api_key_(tpm|rpm)_limit|litellm_credential_name|configurable_clientside_auth_params|.*_per_token.*|.*_token_cost.*|.*tokenizer)$/;
const HEADERS_NAME = /headers$/i;
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;
// Values of secrets: common prefixes of keys, certificates and tokens; long strings of mixed letters and digits without separators.
const SECRET_VALUE =
  /^(sk-|pk-|rk-|gsk_|hf_|xai-|ghp_|github_pat_|xox[a-z]-|AKIA|ASIA|AIza|ya29\.|eyJ|Bearer |Basic |-----BEGIN)|^[0-9a-f]{32,}$|^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+_=]{32,}$/;

/**
 * An operator's settings for display: named secrets are dropped, values that look like secrets are masked, and of headers only names are
 * shown.
 */
export function redactFields(fields: Fields): Record<string, unknown> {
  const shown = Object.entries(fields).filter(([name, value]) => value !== null && value !== undefined && !isSecret(name, value));
  return Object.fromEntries(shown.map(([name, value]) => [name, HEADERS_NAME.test(name) ? maskAll(value) : redact(value)]));
}

/** The headers of an upstream request with credentials masked. */
export function redactHeaders(headers: Readonly<Record<string, string>>, secrets: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const isHidden =
        isSecret(name, value) || /auth/i.test(name) || SECRET_VALUE.test(value) || secrets.some((secret) => value.includes(secret));
      return [name, isHidden ? maskValue(value) : value];
    }),
  );
}

/** A URL without user, password and query parameters that look like keys. */
export function redactUrl(address: string): string {
  if (!URL.canParse(address)) return MASK;
  const url = new URL(address);
  const query = [...url.searchParams.keys()];
  url.username = "";
  url.password = "";
  for (const name of query) if (isSecret(name, "") || SECRET_VALUE.test(url.searchParams.get(name) ?? "")) url.searchParams.delete(name);
  return url.href.replace(/\/$/, address.endsWith("/") ? "/" : "");
}

/** Fields without those that contain a URL, at any depth. */
export function withoutAddresses(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !hasAddress(value)));
}

/** Whether a value contains a URL, at any depth. */
export function hasAddress(value: unknown): boolean {
  if (typeof value === "string") return URL_START.test(value);
  return typeof value === "object" && value !== null && Object.values(value).some(hasAddress);
}

/** A numeric token field is a limit; a textual one is a secret. */
function isSecret(name: string, value: unknown): boolean {
  if (HARMLESS_NAME.test(name)) return false;
  return SECRET_NAME.test(name) || (TOKEN_NAME.test(name) && typeof value !== "number" && typeof value !== "boolean");
}

function redact(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  return typeof value === "object" && value !== null ? redactFields(value as Fields) : value;
}

function redactText(text: string): string {
  if (SECRET_VALUE.test(text)) return maskValue(text);
  return URL_START.test(text) ? redactUrl(text) : text;
}

function maskAll(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return MASK;
  return Object.fromEntries(Object.keys(value).map((name) => [name, MASK]));
}

function maskValue(value: string): string {
  const scheme = /^(Bearer|Basic) /i.exec(value);
  return scheme ? scheme[0] + MASK : MASK;
}
