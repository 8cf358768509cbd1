import { collect } from "../stores/page.ts";
import { perTransaction } from "../stores/record-slots.ts";
import { isOwn, scopeOf, scopesOf } from "../stores/scopes.ts";
import type { Range, Store, Transaction } from "../stores/store.ts";

/** Small transactions, so that removals never delay a settlement for long. */
const BATCH = 500;
/** For records of up to 200 KB. */
const SMALL_BATCH = 20;

const EXPIRING = [
  "sessions",
  "invitations",
  "idempotency",
  "passwordResets",
  "emailVerifications",
  "finishedSignIns",
  "paidWork",
  "leases",
  "payments",
  "paymentEvents",
  "deliveries",
  "callContents",
] as const;

type Expiring = (typeof EXPIRING)[number];

/** Removes records that have expired. Records of a slot are removed by its owner. */
export async function removeExpired(now: number, { store }: { store: Store }): Promise<void> {
  for (const collection of EXPIRING) {
    const remove = (tx: Transaction, id: string) => removeIfExpired(tx, { collection, id, now });
    await removeWhile(store, { collection, range: { index: "byExpiry", before: now }, remove });
  }
}

/**
 * A record may have been replaced since it was found: an edge that asks again gets a lease of the same id, whose credit would be lent a second
 * time if it were removed.
 */
async function removeIfExpired(tx: Transaction, { collection, id, now }: { collection: Expiring; id: string; now: number }): Promise<void> {
  const current = await tx.get(collection, id);
  if (current?.expiresAt !== undefined && current.expiresAt < now) await tx.remove(collection, id);
}

/** Removes the records of a range in batches, each with `remove` in a transaction. */
export async function removeWhile<Name extends Expiring | "feed">(
  store: Store,
  { collection, range, remove }: { collection: Name; range: Range<Name>; remove: (tx: Transaction, id: never) => Promise<void> },
): Promise<void> {
  const limit = collection === "callContents" ? SMALL_BATCH : BATCH;
  for (;;) {
    const records = await collect(store.scan(collection, { ...range, limit }));
    const own = records.filter((record) => isOwn(store, scopeOf(collection, record, store.slots)));
    if (own.length === 0) return;
    for (const batch of perTransaction(store, collection, own)) {
      await store.transaction(scopesOf(collection, batch, store.slots), async (tx) => {
        for (const { id } of batch) await remove(tx, id as never);
      });
    }
    if (records.length < limit) return;
  }
}
