import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { canonicalJson } from "./json.ts";

// Signed receipts of single calls, and their offline verification.

/** Domain separation: the signed data includes its type, so that no other signature can pass as one of a receipt. */
const CONTEXT = "tributary.receipt.v1\n";

/** A public key as published, a JSON Web Key (RFC 8037); `kid` is its thumbprint (RFC 7638). */
export interface ReceiptKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
}

export type ReceiptCheck = { readonly ok: true; readonly keyId: string } | { readonly ok: false; readonly reason: string };

export function signedBytes(receipt: unknown): Buffer {
  return Buffer.from(CONTEXT + canonicalJson(receipt), "utf8");
}

export function receiptKey(x: string): ReceiptKey {
  const kid = createHash("sha256")
    .update(canonicalJson({ crv: "Ed25519", kty: "OKP", x }))
    .digest("base64url");
  return { kty: "OKP", crv: "Ed25519", x, kid };
}

/**
 * Whether a receipt has a valid signature by one of these keys. Both arguments are the saved JSON: `{receipt, signature, keyId}` and
 * `{keys: [...]}`, parsed with `fromJson` so that numbers stay exact.
 */
export function checkReceipt(signed: unknown, published: unknown): ReceiptCheck {
  const { receipt, signature, keyId } = fields(signed);
  if (typeof fields(receipt)["callId"] !== "string") return refuse("the file holds no receipt: {receipt, signature, keyId} is expected");
  if (typeof signature !== "string" || typeof keyId !== "string") return refuse("the receipt has no signature or names no key");
  const { keys } = fields(published);
  if (!Array.isArray(keys)) return refuse("the file of keys holds none: {keys: [...]} is expected");
  const entry = keys.map(fields).find(({ kid }) => kid === keyId);
  if (!entry) return refuse(`the key ${keyId} is not among the published ones`);
  const key = readKey(entry);
  if (!key || receiptKey(String(entry["x"])).kid !== keyId) return refuse(`the published key ${keyId} is not a valid Ed25519 key`);
  if (!verify(null, signedBytes(receipt), key, Buffer.from(signature, "base64url"))) {
    return refuse("the signature does not match: the receipt was changed, or was not signed by this key");
  }
  return { ok: true, keyId };
}

function refuse(reason: string): ReceiptCheck {
  return { ok: false, reason };
}

function readKey({ kty, crv, x }: Readonly<Record<string, unknown>>): KeyObject | undefined {
  if (kty !== "OKP" || crv !== "Ed25519" || typeof x !== "string") return undefined;
  try {
    return createPublicKey({ key: { kty, crv, x }, format: "jwk" });
  } catch {
    return undefined;
  }
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
