import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { type ReceiptKey, receiptKey, signedBytes } from "../../common/receipt.ts";
import type { Secrets } from "./secrets.ts";

/** Signs receipts of calls. The private key never leaves this file. */
export interface ReceiptSigner {
  readonly key: ReceiptKey;
  /** Ed25519, base64url. */
  sign(receipt: unknown): string;
}

/** PKCS #8 around the 32 bytes of an Ed25519 key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * The key is derived from the root secret's seed, so every control plane with the same root secret has the same key and stores none. When
 * the root secret is rotated, the next receipt is signed with the new key.
 */
export function createReceiptSigner(secrets: Pick<Secrets, "receiptSeed">): ReceiptSigner {
  let [seed, signer] = [secrets.receiptSeed, signerOf(secrets.receiptSeed)];
  const current = () => {
    if (seed !== secrets.receiptSeed) [seed, signer] = [secrets.receiptSeed, signerOf(secrets.receiptSeed)];
    return signer;
  };
  return {
    get key() {
      return current().key;
    },
    sign: (receipt) => current().sign(receipt),
  };
}

function signerOf(seed: Uint8Array): ReceiptSigner {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  return { key: receiptKey(x), sign: (receipt) => sign(null, signedBytes(receipt), privateKey).toString("base64url") };
}
