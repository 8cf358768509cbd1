import type { ReceiptSigner } from "../crypto/receipt-signer.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Store } from "../stores/store.ts";

const PREFIX = "receipt-key/";
/** The first string after all strings with the prefix. */
const AFTER_PREFIX = "receipt-key0";

interface PublishedKey {
  readonly keyId: string;
  readonly x: string;
  readonly since: number;
}

/** Public keys are stored forever, so that receipts of an earlier root secret can still be verified. */
export async function publishReceiptKey(store: Store, { key }: ReceiptSigner, now: number): Promise<void> {
  const id = PREFIX + key.kid;
  if (await store.get("settings", id)) return;
  await store.transaction("settings", async (tx) => {
    if (!(await tx.get("settings", id))) await tx.insert("settings", { id, value: JSON.stringify({ x: key.x, since: now }) });
  });
}

/** All keys that ever signed: the current one first, then newest first. */
export async function publishedKeys(reader: Reader, { key }: ReceiptSigner): Promise<PublishedKey[]> {
  const stored = await collect(reader.scan("settings", { from: PREFIX, before: AFTER_PREFIX }));
  const keys = stored.map(({ id, value }) => ({ keyId: id.slice(PREFIX.length), ...(JSON.parse(value) as { x: string; since: number }) }));
  return keys.sort((left, right) => Number(right.keyId === key.kid) - Number(left.keyId === key.kid) || right.since - left.since);
}
