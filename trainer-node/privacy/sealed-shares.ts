import { createCipheriv, createDecipheriv } from "node:crypto";
import { KEY_BYTES } from "./mask-keys.ts";

const [NONCE_BYTES, TAG_BYTES] = [12, 16];

/** One participant's shares for another, which pass through a server that must not read them. */
export interface SharePair {
  /** The index of the shares, 1 to 255. */
  readonly at: number;
  readonly ofOwnMask: Uint8Array;
  readonly ofPairKey: Uint8Array;
}

/** Encrypts shares with AES-256-GCM. `context` (sender, receiver and round) is authenticated, so that the server cannot redirect them. */
export function sealShares(
  shares: SharePair,
  options: { key: Uint8Array; context: string; randomBytes: (count: number) => Uint8Array },
): Uint8Array {
  const nonce = options.randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", options.key, nonce).setAAD(Buffer.from(options.context));
  const body = Buffer.concat([
    cipher.update(Buffer.concat([Uint8Array.of(shares.at), shares.ofOwnMask, shares.ofPairKey])),
    cipher.final(),
  ]);
  return Buffer.concat([nonce, body, cipher.getAuthTag()]);
}

/** Decrypts shares. Throws if they were changed or sealed for another context. */
export function openShares(sealed: Uint8Array, { key, context }: { key: Uint8Array; context: string }): SharePair {
  if (sealed.byteLength !== NONCE_BYTES + 1 + 2 * KEY_BYTES + TAG_BYTES) throw new RangeError("sealed shares of a wrong length");
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const body = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  return { at: body[0] as number, ofOwnMask: body.subarray(1, 1 + KEY_BYTES), ofPairKey: body.subarray(1 + KEY_BYTES) };
}
