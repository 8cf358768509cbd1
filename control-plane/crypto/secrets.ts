import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import type { Random } from "../../common/random.ts";

/** Keys and hashes derived from the root secret, which is outside the store. */
export interface Secrets {
  /** The stored form of an API key: HMAC over the SHA-256 of its secret. */
  keyHash(secretSha256: Uint8Array): string;
  /** The stored form of any other token that is issued once (password resets, join tokens, idempotency keys). */
  tokenHash(token: string): string;
  /** Encrypts with AES-256-GCM. */
  seal(plain: Uint8Array): string;
  /** Decrypts. Throws if the text was not sealed with this secret, or was changed. */
  open(sealed: string): Buffer;
  /** Signs session tokens. */
  readonly jwtKey: Uint8Array;
  /** Identifies the root secret without revealing it. */
  readonly fingerprint: string;
  /** Seed of the key that signs receipts. */
  readonly receiptSeed: Uint8Array;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function deriveSecrets(root: Uint8Array, random: Random): Secrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", root, "tributary", purpose, 32));
  const [keyPepper, tokenPepper, sealKey, jwtKey] = [derive("api-key"), derive("token"), derive("seal"), derive("jwt")];
  return {
    keyHash: (secretSha256) => createHmac("sha256", keyPepper).update(secretSha256).digest("hex"),
    tokenHash: (token) => createHmac("sha256", tokenPepper).update(token).digest("hex"),
    seal(plain) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", sealKey, nonce);
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64");
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, "base64");
      const decipher = createDecipheriv("aes-256-gcm", sealKey, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    },
    jwtKey,
    fingerprint: derive("fingerprint").toString("hex"),
    receiptSeed: derive("receipt"),
  };
}
