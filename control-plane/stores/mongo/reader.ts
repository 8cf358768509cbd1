import type { ClientSession, Collection, Db, Filter } from "mongodb";
import { ignore } from "../../../common/ignore.ts";
import { type CollectionName, type IndexName, type IndexValue, indexesOf, type Records } from "../collections.ts";
import type { RecordSlots } from "../record-slots.ts";
import type { Range, Reader } from "../store.ts";
import { fieldName, fromDocument, SLOT, type StoredDocument, scalar } from "./documents.ts";
import { amongQuery, type RangeQuery, rangeQuery } from "./range-query.ts";

/** What reads run with. */
export interface ReadContext {
  readonly database: Db;
  /** The session of the transaction; absent outside of one. */
  readonly session?: ClientSession;
  /** Limit for the server, so that it stops a read whose caller is gone. */
  readonly maxTimeMs: number;
  /** Wraps every operation: limits its time and converts its errors. */
  guard<T>(operation: Promise<T>): Promise<T>;
  /** Names the slots of what is read, so that a router asks their shards only. Absent: the documents are all on one server. */
  readonly targets?: ReadTargets;
}

/** Where the documents are that a reader asks for. */
export interface ReadTargets {
  readonly records: RecordSlots;
  /** The slot of the transaction that reads; undefined outside of one, and in one of several slots or with a shared scope. */
  readonly own: number | undefined;
}

type SlotFilter = { [SLOT]?: number | { $in: number[] } };

function slotFilter(given: readonly number[]): SlotFilter {
  const slots = [...new Set(given)];
  const [only, ...others] = slots;
  return { [SLOT]: only === undefined || others.length > 0 ? { $in: slots } : only };
}

export class MongoReader implements Reader {
  readonly #context: ReadContext;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  async get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined> {
    const filter = { _id: scalar(id), ...this.#whereIds(collection, [id]) };
    const document = await this.#context.guard(this.#table(collection).findOne(filter, this.#options()));
    return document ? fromDocument<Name>(document) : undefined;
  }

  async getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]> {
    if (ids.length === 0) return [];
    const filter = { _id: { $in: [...new Set(ids.map(scalar))] }, ...this.#whereIds(collection, ids) };
    const documents = await this.#context.guard(this.#table(collection).find(filter, this.#options()).toArray());
    const found = new Map(documents.map((document) => [document._id, document]));
    return ids.map((id) => {
      const document = found.get(id);
      return document && fromDocument<Name>(document);
    });
  }

  async find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined> {
    const definition = indexesOf(collection)[index];
    if (!definition) throw new Error(`${collection} has no index ${index}`);
    const filter: Filter<StoredDocument> = Object.fromEntries(
      definition.fields.map((field, position) => [fieldName(field), scalar(values[position] as IndexValue)]),
    );
    Object.assign(filter, this.#whereIndexed(collection, index, values.slice(0, 1)));
    const document = await this.#context.guard(this.#table(collection).findOne(filter, { ...this.#options(), hint: index }));
    return document ? fromDocument<Name>(document) : undefined;
  }

  async listMany<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name][][]> {
    if (values.length === 0) return [];
    const { field, filter: among, sort } = amongQuery(collection, index, values);
    const filter = { ...among, ...this.#whereIndexed(collection, index, values) };
    const documents = await this.#context.guard(
      this.#table(collection)
        .find(filter, { ...this.#options(), sort, hint: index })
        .toArray(),
    );
    const lists = Map.groupBy(documents, (document) => document[field] as IndexValue);
    return values.map((value) => (lists.get(value) ?? []).map((document) => fromDocument<Name>(document)));
  }

  async *scan<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): AsyncIterable<Records[Name]> {
    // MongoDB treats a limit of zero as no limit.
    if (range.limit === 0) return;
    const { filter, sort, hint } = this.#rangeQuery(collection, range);
    const { skip = 0, limit = 0 } = range;
    const cursor = this.#table(collection).find(filter, { ...this.#options(), sort, hint, skip, limit, batchSize: 1_000 });
    try {
      for (;;) {
        const document = await this.#context.guard(cursor.next());
        if (!document) return;
        yield fromDocument<Name>(document);
        for (const buffered of cursor.readBufferedDocuments()) yield fromDocument<Name>(buffered);
      }
    } finally {
      // The close is awaited only in a transaction, where operations must not overlap.
      const closed = ignore(cursor.close(), "an unreachable server drops the cursor by itself");
      if (this.#context.session) await closed;
    }
  }

  async count<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): Promise<number> {
    if (range.limit === 0) return 0;
    const { filter, hint } = this.#rangeQuery(collection, range);
    const window = { ...(range.skip ? { skip: range.skip } : {}), ...(range.limit ? { limit: range.limit } : {}) };
    const counted = await this.#context.guard(this.#table(collection).countDocuments(filter, { ...this.#options(), hint, ...window }));
    return Number(counted);
  }

  #rangeQuery<Name extends CollectionName>(collection: Name, range: Range<Name>): RangeQuery {
    const query = rangeQuery(collection, range);
    const first = range.equals?.slice(0, 1) ?? [];
    const where = range.index !== undefined && first.length > 0 ? this.#whereIndexed(collection, range.index, first) : undefined;
    return where ? { ...query, filter: { ...query.filter, ...where } } : query;
  }

  #whereIds(collection: CollectionName, ids: readonly IndexValue[]): SlotFilter | undefined {
    const { targets } = this.#context;
    if (!targets) return undefined;
    const slots: number[] = [];
    for (const id of ids) {
      const found = targets.records.ofId(collection, id, targets.own);
      if (!found) return undefined;
      slots.push(...found);
    }
    return slotFilter(slots);
  }

  /** The records of organizations in an index that begins with the organization are in their slots. */
  #whereIndexed(collection: CollectionName, index: string, firsts: readonly IndexValue[]): SlotFilter | undefined {
    const { targets } = this.#context;
    if (!targets || indexesOf(collection)[index]?.fields[0] !== "organizationId") return undefined;
    const slots = targets.records.ofOrganizations(collection, firsts);
    return slots && slotFilter(slots);
  }

  #table(name: CollectionName): Collection<StoredDocument> {
    return this.#context.database.collection<StoredDocument>(name);
  }

  #options() {
    const { session, maxTimeMs } = this.#context;
    return { maxTimeMS: maxTimeMs, ...(session ? { session } : {}) };
  }
}
