import type { ClientSession, Collection, Db } from "mongodb";
import { ignore } from "../../../common/ignore.ts";
import { type CollectionName, type IndexName, type IndexValue, indexesOf, type Records } from "../collections.ts";
import type { Range, Reader } from "../store.ts";
import { fieldName, fromDocument, type StoredDocument, scalar } from "./documents.ts";
import { amongQuery, rangeQuery } from "./range-query.ts";

/** What reads run with. */
export interface ReadContext {
  readonly database: Db;
  /** The session of the transaction; absent outside of one. */
  readonly session?: ClientSession;
  /** Limit for the server, so that it stops a read whose caller is gone. */
  readonly maxTimeMs: number;
  /** Wraps every operation: limits its time and converts its errors. */
  guard<T>(operation: Promise<T>): Promise<T>;
}

export class MongoReader implements Reader {
  readonly #context: ReadContext;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  async get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined> {
    const document = await this.#context.guard(this.#table(collection).findOne({ _id: scalar(id) }, this.#options()));
    return document ? fromDocument<Name>(document) : undefined;
  }

  async getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]> {
    if (ids.length === 0) return [];
    const filter = { _id: { $in: [...new Set(ids.map(scalar))] } };
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
    const filter = Object.fromEntries(
      definition.fields.map((field, position) => [fieldName(field), scalar(values[position] as IndexValue)]),
    );
    const document = await this.#context.guard(this.#table(collection).findOne(filter, { ...this.#options(), hint: index }));
    return document ? fromDocument<Name>(document) : undefined;
  }

  async listMany<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name][][]> {
    if (values.length === 0) return [];
    const { field, filter, sort } = amongQuery(collection, index, values);
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
    const { filter, sort, hint } = rangeQuery(collection, range);
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
    const { filter, hint } = rangeQuery(collection, range);
    const window = { ...(range.skip ? { skip: range.skip } : {}), ...(range.limit ? { limit: range.limit } : {}) };
    const counted = await this.#context.guard(this.#table(collection).countDocuments(filter, { ...this.#options(), hint, ...window }));
    return Number(counted);
  }

  #table(name: CollectionName): Collection<StoredDocument> {
    return this.#context.database.collection<StoredDocument>(name);
  }

  #options() {
    const { session, maxTimeMs } = this.#context;
    return { maxTimeMS: maxTimeMs, ...(session ? { session } : {}) };
  }
}
