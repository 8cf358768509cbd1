import { createPrivateKey, createPublicKey, diffieHellman, hkdfSync, type KeyObject } from "node:crypto";

/** Bytes of a key. */
export const KEY_BYTES = 32;
/** The bytes before the 32 bytes of an X25519 key in its PKCS #8 and SPKI forms (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex");
const PUBLIC_PREFIX = Buffer.from("302a300506032b656e032100", "hex");

/** An X25519 key pair as bytes, so that it can be sent and split into shares. */
export interface MaskKeys {
  readonly secret: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** The key pair of a secret; any 32 bytes are valid. */
export function maskKeysOf(secret: Uint8Array): MaskKeys {
  const spki = createPublicKey(privateKeyOf(secret)).export({ format: "der", type: "spki" });
  return { secret, publicKey: Uint8Array.from(spki.subarray(PUBLIC_PREFIX.byteLength)) };
}

/** A key that only the two participants can compute (X25519, then HKDF-SHA-256). `purpose` separates the uses of one pair. */
export function agreedKey({ secret, publicKey, purpose }: { secret: Uint8Array; publicKey: Uint8Array; purpose: string }): Uint8Array {
  if (publicKey.byteLength !== KEY_BYTES) throw new RangeError(`a public key has ${KEY_BYTES} bytes, not ${publicKey.byteLength}`);
  const other = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, publicKey]), format: "der", type: "spki" });
  const shared = diffieHellman({ privateKey: privateKeyOf(secret), publicKey: other });
  return new Uint8Array(hkdfSync("sha256", shared, new Uint8Array(0), purpose, KEY_BYTES));
}

function privateKeyOf(secret: Uint8Array): KeyObject {
  if (secret.byteLength !== KEY_BYTES) throw new RangeError(`a secret has ${KEY_BYTES} bytes, not ${secret.byteLength}`);
  return createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, secret]), format: "der", type: "pkcs8" });
}
