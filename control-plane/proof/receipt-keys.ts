import type { ReceiptSigner } from "../crypto/receipt-signer.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Store } from "../stores/store.ts";

const PREFIX = "receipt-key/";
/** The first text after all that begin with the prefix. */
const AFTER_PREFIX = "receipt-key0";

interface PublishedKey {
  readonly keyId: string;
  readonly x: string;
  readonly since: number;
}

/** Public keys are kept for ever: with another root secret the receipts of the one before can still be checked. */
export async function publishReceiptKey(store: Store, { key }: ReceiptSigner, now: number): Promise<void> {
  const id = PREFIX + key.kid;
  if (await store.get("settings", id)) return;
  await store.transaction(async (tx) => {
    if (!(await tx.get("settings", id))) await tx.insert("settings", { id, value: JSON.stringify({ x: key.x, since: now }) });
  });
}

/** All that ever signed, the one in use first, then the newest. */
export async function publishedKeys(reader: Reader, { key }: ReceiptSigner): Promise<PublishedKey[]> {
  const stored = await collect(reader.scan("settings", { from: PREFIX, before: AFTER_PREFIX }));
  const keys = stored.map(({ id, value }) => ({ keyId: id.slice(PREFIX.length), ...(JSON.parse(value) as { x: string; since: number }) }));
  return keys.sort((left, right) => Number(right.keyId === key.kid) - Number(left.keyId === key.kid) || right.since - left.since);
}
