import { createHmac } from "node:crypto";

/** Headers of a signed call. A node that has the federation's secret checks them. */
export const SIGNATURE_HEADERS = {
  signature: "x-tributary-signature",
  nonce: "x-tributary-nonce",
  timestamp: "x-tributary-timestamp",
  bodySha256: "x-tributary-content-sha256",
} as const;

/** The parts of a call that its signature covers. */
export interface SignedParts {
  readonly method: string;
  readonly path: string;
  /** Milliseconds since 1970, in decimal. */
  readonly timestamp: string;
  readonly nonce: string;
  /** In hex. */
  readonly bodySha256: string;
}

/**
 * HMAC over method, path, time, nonce and body hash: a third party can neither change the body nor send the call again with another nonce.
 */
export function signatureOf(secret: string, { method, path, timestamp, nonce, bodySha256 }: SignedParts): string {
  return `v1=${createHmac("sha256", secret).update([method, path, timestamp, nonce, bodySha256].join("\n")).digest("hex")}`;
}
