import type { CollectionName, Records } from "./collections.ts";
import type { Range, Reader } from "./store.ts";

/** A page of a list, from 1. */
export interface PageNumber {
  page: number;
  pageSize: number;
}

/** The records of a page, and the number of all records. */
export interface Page<Record> {
  records: Record[];
  total: number;
}

/** Reads one page of a range and counts all its records. A page past the end is empty. */
export async function readPage<Name extends CollectionName>(
  reader: Reader,
  collection: Name,
  query: PageNumber & {
    range?: Range<Name>;
    where?: (record: Records[Name]) => boolean;
    /** The number of all records of the range, for callers that know it; absent: they are counted. */
    count?: () => Promise<number>;
  },
): Promise<Page<Records[Name]>> {
  const { page, pageSize, range = {}, where, count = () => reader.count(collection, range) } = query;
  const skip = (page - 1) * pageSize;
  if (!where) {
    const records = await collect(reader.scan(collection, { ...range, skip, limit: pageSize }));
    return { records, total: await count() };
  }
  const records: Records[Name][] = [];
  let total = 0;
  for await (const record of reader.scan(collection, range)) {
    if (!where(record)) continue;
    if (total >= skip && records.length < pageSize) records.push(record);
    total++;
  }
  return { records, total };
}

/** A page of a list in memory. */
export function slicePage<Item>(items: readonly Item[], { page, pageSize }: PageNumber): Page<Item> {
  return { records: items.slice((page - 1) * pageSize, page * pageSize), total: items.length };
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
