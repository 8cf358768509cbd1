import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync } from "node:crypto";
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
  /** Keys of session tokens: the first one signs, each of them verifies. */
  readonly jwtKeys: readonly [Uint8Array, ...Uint8Array[]];
  /** Identifies the root secret without revealing it. */
  readonly fingerprint: string;
  /** Seed of the key that signs receipts. */
  readonly receiptSeed: Uint8Array;
}

/** The keys of the stored hashes. They outlive a root secret, because a hash cannot be computed again without its token. */
export interface Peppers {
  readonly key: Uint8Array;
  readonly token: Uint8Array;
}

/** Everything that one root secret gives. */
export interface RootSecrets extends Secrets {
  /** The peppers of a store whose first root secret this is. */
  readonly peppers: Peppers;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function deriveSecrets(root: Uint8Array, random: Random): RootSecrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", root, "tributary", purpose, 32));
  const peppers = { key: derive("api-key"), token: derive("token") };
  const sealKey = derive("seal");
  return {
    ...hashesOf(peppers),
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
    jwtKeys: [derive("jwt")],
    fingerprint: derive("fingerprint").toString("hex"),
    receiptSeed: derive("receipt"),
    peppers,
  };
}

export function hashesOf(peppers: Peppers): Pick<Secrets, "keyHash" | "tokenHash"> {
  // Imported once: with the bytes, each hash would import them.
  const [key, token] = [createSecretKey(peppers.key), createSecretKey(peppers.token)];
  return {
    keyHash: (secretSha256) => createHmac("sha256", key).update(secretSha256).digest("hex"),
    tokenHash: (given) => createHmac("sha256", token).update(given).digest("hex"),
  };
}

/** Whether these secrets open a sealed text. */
export function canOpen(secrets: Pick<Secrets, "open">, sealed: string): boolean {
  try {
    secrets.open(sealed);
    return true;
  } catch {
    return false;
  }
}
