import { setImmediate as nextTurn } from "node:timers/promises";
import { type CollectionName, indexesOf, indexValues, type Records } from "../stores/collections.ts";
import { collect } from "../stores/page.ts";
import type { Position, Range, Reader } from "../stores/store.ts";

const PAGE_RECORDS = 200;

/**
 * A long scan in pages: one page is in memory, other work runs between pages, and no store holds a snapshot or cursor open for the whole
 * scan. Records written meanwhile are seen only if they sort after the current position.
 */
export async function* inPages<Name extends CollectionName>(
  reader: Reader,
  collection: Name,
  options: { range?: Omit<Range<Name>, "after" | "skip" | "limit">; signal: AbortSignal },
): AsyncGenerator<Records[Name][]> {
  const { range = {}, signal } = options;
  let after: Position | undefined;
  for (;;) {
    signal.throwIfAborted();
    const page = await collect(reader.scan(collection, { ...range, limit: PAGE_RECORDS, ...(after && { after }) }));
    const last = page.at(-1);
    if (last) yield page;
    if (!last || page.length < PAGE_RECORDS) return;
    after = positionOf(collection, range.index, last);
    await nextTurn();
  }
}

function positionOf<Name extends CollectionName>(collection: Name, index: string | undefined, record: Records[Name]): Position {
  const definition = index === undefined ? undefined : indexesOf(collection)[index];
  return [...((definition && indexValues(record, definition)) ?? []), record.id];
}
