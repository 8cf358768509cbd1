import { createHmac } from "node:crypto";

/** What a signed call to a node carries. The node checks it where it was given the federation's secret. */
export const SIGNATURE_HEADERS = {
  signature: "x-tributary-signature",
  nonce: "x-tributary-nonce",
  timestamp: "x-tributary-timestamp",
  bodySha256: "x-tributary-content-sha256",
} as const;

export interface SignedParts {
  readonly method: string;
  readonly path: string;
  /** Milliseconds since 1970, in decimal. */
  readonly timestamp: string;
  readonly nonce: string;
  /** In hex. */
  readonly bodySha256: string;
}

/** HMAC over everything that makes the call what it is: nobody can change the body, or send it again with another nonce. */
export function signatureOf(secret: string, { method, path, timestamp, nonce, bodySha256 }: SignedParts): string {
  return `v1=${createHmac("sha256", secret).update([method, path, timestamp, nonce, bodySha256].join("\n")).digest("hex")}`;
}
