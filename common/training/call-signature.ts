import { createHmac } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Random } from "../random.ts";

/** Headers of a signed call. A node with the same secret checks them. */
export const SIGNATURE_HEADERS = {
  signature: "x-tributary-signature",
  nonce: "x-tributary-nonce",
  timestamp: "x-tributary-timestamp",
  bodySha256: "x-tributary-content-sha256",
} as const;

/** Headers that decide what a call does: how its body is read, its other fields, whose call it is and whether it is a repetition. */
const SIGNED_HEADERS = ["content-type", "idempotency-key", "x-gw-tenant", "x-train-config"] as const;

/** The parts of a call that its signature covers. */
export interface SignedParts {
  readonly method: string;
  readonly path: string;
  /** Milliseconds since 1970, in decimal. */
  readonly timestamp: string;
  readonly nonce: string;
  /** All headers of the call, with names in lower case. The signature covers SIGNED_HEADERS; an absent one counts as empty. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** In hex. */
  readonly bodySha256: string;
}

/**
 * HMAC over method, path, time, nonce, SIGNED_HEADERS and body hash: a third party can neither change what the call asks for nor send it again
 * with another nonce. Version 1 did not cover headers.
 */
export function signatureOf(secret: string, { method, path, timestamp, nonce, headers, bodySha256 }: SignedParts): string {
  const signedHeaders = SIGNED_HEADERS.map((name) => `${name}: ${headers[name] ?? ""}`);
  const lines = ["v2", method, path, timestamp, nonce, ...signedHeaders, bodySha256];
  return `v2=${createHmac("sha256", secret).update(lines.join("\n")).digest("hex")}`;
}

/** The headers that sign a call with `secret` now. */
export function signatureHeaders(
  secret: string,
  call: Omit<SignedParts, "timestamp" | "nonce">,
  { clock, random }: { clock: Clock; random: Random },
): Record<string, string> {
  const parts = { ...call, timestamp: String(clock.now()), nonce: random.bytes(16).toString("hex") };
  return {
    [SIGNATURE_HEADERS.signature]: signatureOf(secret, parts),
    [SIGNATURE_HEADERS.nonce]: parts.nonce,
    [SIGNATURE_HEADERS.timestamp]: parts.timestamp,
    [SIGNATURE_HEADERS.bodySha256]: parts.bodySha256,
  };
}
