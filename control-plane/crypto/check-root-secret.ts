import { ConfigError } from "../../common/config.ts";
import { publishedKeys } from "../proof/receipt-keys.ts";
import type { Reader, Store } from "../stores/store.ts";
import type { ReceiptSigner } from "./receipt-signer.ts";
import type { Secrets } from "./secrets.ts";

const SETTING = "secret-key-fingerprint";

/**
 * Binds the store to its root secret at the first start and refuses any other secret later. With another secret API keys are unknown,
 * sessions invalid and provider credentials unreadable, and new keys get hashes that no other control plane finds.
 */
export async function checkRootSecret(store: Store, { secrets, receipts }: { secrets: Secrets; receipts: ReceiptSigner }): Promise<void> {
  const known = await store.transaction("settings", async (tx) => {
    const setting = await tx.get("settings", SETTING);
    if (setting) return setting.value;
    // A store from before the fingerprint: its sealed values must open with this secret.
    if (!(await isSecretOf(tx, { secrets, receipts }))) return undefined;
    await tx.insert("settings", { id: SETTING, value: secrets.fingerprint });
    return secrets.fingerprint;
  });
  if (known === secrets.fingerprint) return;
  throw new ConfigError([
    "SECRET_KEY is not the one that this store was made with: its API keys, sessions and provider credentials cannot be read with it. " +
      "Set SECRET_KEY to the same value on every control plane of the store; where it was never set, it is in the file secret.key of the first DATA_DIR.",
  ]);
}

async function isSecretOf(reader: Reader, { secrets, receipts }: { secrets: Secrets; receipts: ReceiptSigner }): Promise<boolean> {
  const keys = await publishedKeys(reader, receipts);
  if (keys.length > 0 && !keys.some(({ keyId }) => keyId === receipts.key.kid)) return false;
  for await (const { sealedCredential } of reader.scan("providers")) {
    if (sealedCredential !== undefined && !canOpen(secrets, sealedCredential)) return false;
  }
  return true;
}

function canOpen(secrets: Secrets, sealed: string): boolean {
  try {
    secrets.open(sealed);
    return true;
  } catch {
    return false;
  }
}
