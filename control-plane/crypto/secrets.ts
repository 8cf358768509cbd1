import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import type { Random } from "../../common/random.ts";

/** Everything derived from the one root secret, which lives outside the store. */
export interface Secrets {
  /** What is kept of an API key: HMAC over the SHA-256 of its secret. */
  keyHash(secretSha256: Uint8Array): string;
  /** What is kept of any other token that is handed out once (password resets, idempotency keys). */
  tokenHash(token: string): string;
  seal(plain: Uint8Array): string;
  /** Throws when the text was not sealed with this secret, or was changed. */
  open(sealed: string): Buffer;
  readonly jwtKey: Uint8Array;
  /** Tells root secrets apart and says nothing about them. */
  readonly fingerprint: string;
  /** Of the key that signs receipts. */
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
