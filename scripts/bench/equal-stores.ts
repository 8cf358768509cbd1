import { isDeepStrictEqual } from "node:util";
import { CLOSED_HEAD } from "../../control-plane/domain/ledger.ts";
import { COLLECTION_NAMES, type CollectionName, type Records } from "../../control-plane/stores/collections.ts";
import type { Store } from "../../control-plane/stores/store.ts";

/** What a promotion changes on purpose: the head of the one chain is closed, counters are divided, and settings name the promotion itself. */
const CHANGED: readonly CollectionName[] = ["ledgerHead", "counters", "settings"];

/** Compared by their number and one record of so many; `verify` hashes every one of them in both stores. */
const SAMPLED: { readonly [Name in CollectionName]?: number } = { usage: 100, ledger: 100 };
const SAMPLE_AT_ONCE = 200;

export async function recordsOf(store: Store): Promise<number> {
  let records = 0;
  for (const name of COLLECTION_NAMES) records += await store.count(name);
  return records;
}

/** What differs between a store of one slot and its copy in a store of many: a line for each collection, and one for the end of the chain. */
export async function differences(source: Store, target: Store): Promise<string[]> {
  const found: string[] = [];
  for (const name of COLLECTION_NAMES) {
    if (CHANGED.includes(name)) continue;
    const every = SAMPLED[name];
    const different = await (every === undefined
      ? firstDifference(name, source, target)
      : sampledDifference({ name, every }, source, target));
    if (different !== undefined) found.push(different);
  }
  const [end, closed] = [await source.get("ledgerHead", "0"), await target.get("ledgerHead", CLOSED_HEAD)];
  const isSameEnd = end !== undefined && isDeepStrictEqual({ ...closed, id: end.id }, end);
  if (!isSameEnd) found.push(`the chain ends with ${closed?.hash} at ${closed?.seq}, in the folder with ${end?.hash} at ${end?.seq}`);
  return found;
}

async function firstDifference(name: CollectionName, source: Store, target: Store): Promise<string | undefined> {
  const copies = target.scan(name)[Symbol.asyncIterator]();
  try {
    let records = 0;
    for await (const record of source.scan(name)) {
      const copy = await copies.next();
      records++;
      if (copy.done === true) return `${name}: ${record.id} is missing after ${records - 1} records`;
      if (!isDeepStrictEqual(copy.value, record)) return `${name}: ${copy.value.id} is not ${record.id} of the folder`;
    }
    const more = await copies.next();
    return more.done === true ? undefined : `${name}: ${more.value.id} is not in the folder`;
  } finally {
    await copies.return?.();
  }
}

async function sampledDifference(
  { name, every }: { name: CollectionName; every: number },
  source: Store,
  target: Store,
): Promise<string | undefined> {
  const [expected, found] = [await source.count(name), await target.count(name)];
  if (expected !== found) return `${name}: ${found} records, ${expected} in the folder`;
  let [place, sample]: [number, Records[CollectionName][]] = [0, []];
  for await (const record of source.scan(name)) {
    if (place++ % every === 0) sample.push(record);
    if (sample.length < SAMPLE_AT_ONCE && place < expected) continue;
    const copies = await target.getMany(
      name,
      sample.map(({ id }) => id),
    );
    const other = sample.find((one, index) => !isDeepStrictEqual(copies[index], one));
    if (other) return `${name}: ${other.id} is not as in the folder`;
    sample = [];
  }
  return undefined;
}
