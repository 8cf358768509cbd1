import type { Logger } from "../../common/logger.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { CollectionName, Records } from "../stores/collections.ts";
import { collect } from "../stores/page.ts";
import { scopeOf, scopesOf } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import type { Keyring } from "./keyring.ts";
import { canOpen } from "./secrets.ts";

/** Whether a record has a field `sealed…`, at any depth. */
type HasSealed<T> = T extends readonly (infer Element)[]
  ? HasSealed<Element>
  : T extends object
    ? Extract<keyof T, `sealed${string}`> extends never
      ? { [Key in keyof T]-?: HasSealed<NonNullable<T[Key]>> }[keyof T]
      : true
    : false;
type SealedCollection = { [Name in CollectionName]: true extends HasSealed<Records[Name]> ? Name : never }[CollectionName];

const PAGE = 200;
/** For records of up to 200 KB. */
const SMALL_PAGE = 10;

/** Every collection with sealed values, and how many of its records are read at once; the type refuses a table that lacks one. */
const SEALED: Readonly<Record<SealedCollection, number>> = {
  providers: PAGE,
  secondFactors: PAGE,
  webhooks: PAGE,
  alerts: PAGE,
  mcpServers: PAGE,
  federations: PAGE,
  trainerNodes: PAGE,
  idempotency: PAGE,
  callContents: SMALL_PAGE,
};

/** Small transactions, so that no settlement waits for long. */
const PER_TRANSACTION = 20;

/**
 * Seals every stored value that opens only with the former root secret with the current one. Returns how many it found. It can be ended at
 * any point and begun again: a value that is sealed with the current one is skipped.
 */
export async function reseal(deps: { store: Store; keyring: Keyring; logger: Logger }): Promise<number> {
  let count = 0;
  for (const name of Object.keys(SEALED) as SealedCollection[]) count += await resealCollection(name, deps);
  return count;
}

async function resealCollection(name: SealedCollection, deps: { store: Store; keyring: Keyring; logger: Logger }): Promise<number> {
  const { store, keyring, logger } = deps;
  const limit = SEALED[name];
  let count = 0;
  for (let after: string | number | undefined; ; ) {
    const page = await collect(store.scan(name, { limit, ...(after === undefined ? {} : { after: [after] }) }));
    const stale = page.filter((record) => countStale(record, { keyring, logger, name }) > 0);
    for (const ofScope of Map.groupBy(stale, (record) => scopeOf(name, record, store.slots)).values()) {
      for (let start = 0; start < ofScope.length; start += PER_TRANSACTION) {
        await resealOwned(name, ofScope.slice(start, start + PER_TRANSACTION), deps);
      }
    }
    count += stale.length;
    after = page.at(-1)?.id;
    if (page.length < limit) return count;
  }
}

/** Records of a slot are sealed again by its owner; here they only count as not done. */
async function resealOwned(...given: Parameters<typeof resealRecords>): Promise<void> {
  try {
    await resealRecords(...given);
  } catch (error) {
    if (!(error instanceof NotOwner)) throw error;
  }
}

async function resealRecords(
  name: SealedCollection,
  records: readonly Records[SealedCollection][],
  { store, keyring }: { store: Store; keyring: Keyring },
): Promise<void> {
  const ids = records.map(({ id }) => id);
  await store.transaction(scopesOf(name, records, store.slots), async (tx) => {
    for (const record of await tx.getMany(name, ids)) {
      if (record)
        await tx.put(
          name,
          mapSealed(record, (sealed) => resealed(sealed, keyring)),
        );
    }
  });
}

function resealed(sealed: string, keyring: Keyring): string {
  return keyring.isCurrent(sealed) || !canOpen(keyring, sealed) ? sealed : keyring.seal(keyring.open(sealed));
}

/** Sealed values of a record that only the former root secret opens. */
function countStale(
  record: { id: string | number },
  { keyring, logger, name }: { keyring: Keyring; logger: Logger; name: string },
): number {
  let count = 0;
  mapSealed(record, (sealed) => {
    if (keyring.isCurrent(sealed)) return sealed;
    if (canOpen(keyring, sealed)) count++;
    else logger.warn({ collection: name, id: record.id }, "a sealed value opens neither with SECRET_KEY nor with SECRET_KEY_PREVIOUS");
    return sealed;
  });
  return count;
}

/** A copy of a value with every string in a field `sealed…` replaced. */
function mapSealed<T>(value: T, change: (sealed: string) => string): T {
  if (Array.isArray(value)) return value.map((element) => mapSealed(element, change)) as T;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const fields = Object.entries(value).map(([key, field]) => [
    key,
    key.startsWith("sealed") && typeof field === "string" ? change(field) : mapSealed(field, change),
  ]);
  return Object.fromEntries(fields) as T;
}
