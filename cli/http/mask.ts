import { CREDENTIAL_HEADERS } from "../../common/credential-headers.ts";

const SECRET_HEADERS: ReadonlySet<string> = new Set(CREDENTIAL_HEADERS);
const SECRET_FIELDS = new Set(["password", "currentPassword", "newPassword", "token", "apiKey", "key", "secret", "otp"]);

export function maskedHeader(name: string, value: string): string {
  return SECRET_HEADERS.has(name.toLowerCase()) ? value.replace(/(?<!\S)\S+$/, masked) : value;
}

/** A copy with masked secrets, for --verbose and --dry-run, whose output people paste into tickets. */
export function maskedBody(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskedBody);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SECRET_FIELDS.has(name) && typeof inner === "string" ? masked(inner) : maskedBody(inner),
    ]),
  );
}

/** Key IDs are not secret and stay unmasked. */
function masked(secret: string): string {
  if (/^key_/.test(secret)) return secret;
  return secret.startsWith("sk-") ? `sk-...${secret.slice(-4)}` : "***";
}
