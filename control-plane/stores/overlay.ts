import { AppError } from "../../common/errors.ts";
import { type CollectionName, type IndexName, type IndexValue, indexesOf, indexValues, type Records } from "./collections.ts";
import { compareTuples, inRange } from "./order.ts";
import { collect } from "./page.ts";
import { ofOrganization, ruleOf, type Scope, scopeOf } from "./scopes.ts";
import type { Range, Reader, Transaction } from "./store.ts";

type AnyRecord = { id: IndexValue };

/** A record before and after the transaction; undefined: it does not exist. */
export interface Write {
  readonly collection: CollectionName;
  readonly id: IndexValue;
  readonly before: AnyRecord | undefined;
  after: AnyRecord | undefined;
}

/**
 * The uncommitted writes of a transaction over a reader, until the adapter commits them in one step. Shared by both adapters, so that
 * uniqueness, reads of own writes and atomicity mean the same on both.
 */
export class Overlay implements Transaction {
  readonly #base: Reader;
  readonly #writes = new Map<CollectionName, Map<IndexValue, Write>>();
  /** Records that this transaction has read by id or listed, so that writing them needs no second read. Records are never changed in place. */
  readonly #known = new Map<CollectionName, Map<IndexValue, AnyRecord | undefined>>();
  /** What was read at once and is not among the known: most of it is never written. */
  readonly #lists = new Map<CollectionName, [ids: readonly IndexValue[], records: readonly (AnyRecord | undefined)[]][]>();

  readonly slots: number;
  readonly scopes: readonly Scope[];
  readonly #scopes: ReadonlySet<Scope>;
  /** The last organization whose slot was among the scopes: most records of a settlement have the same one. */
  #organization: string | undefined;

  constructor(base: Reader, { scopes, slots }: { scopes: readonly Scope[]; slots: number }) {
    this.#base = base;
    this.scopes = scopes;
    this.#scopes = new Set(scopes);
    this.slots = slots;
  }

  /** The writes to be committed, unordered, because the adapter commits them at once. */
  get writes(): Write[] {
    return [...this.writesByCollection.values()].flat();
  }

  /** The same, without the collections that have none. */
  get writesByCollection(): Map<CollectionName, Write[]> {
    const groups = new Map<CollectionName, Write[]>();
    for (const [collection, byId] of this.#writes) {
      const writes: Write[] = [];
      for (const write of byId.values()) if (write.before ?? write.after) writes.push(write);
      if (writes.length > 0) groups.set(collection, writes);
    }
    return groups;
  }

  async get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined> {
    const write = this.#writes.get(collection)?.get(id);
    return (write ? write.after : await this.#committed(collection, id)) as Records[Name] | undefined;
  }

  async getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]> {
    const own = this.#writes.get(collection);
    if (!own) {
      const records = await this.#base.getMany(collection, ids);
      this.#rememberList(collection, ids, records as (AnyRecord | undefined)[]);
      return records;
    }
    const missing = ids.filter((id) => !own.has(id));
    const found = new Map<IndexValue, Records[Name] | undefined>();
    const committed = missing.length > 0 ? await this.#base.getMany(collection, missing) : [];
    this.#rememberList(collection, missing, committed as (AnyRecord | undefined)[]);
    for (const [position, id] of missing.entries()) found.set(id, committed[position]);
    return ids.map((id) => (own.has(id) ? (own.get(id)?.after as Records[Name] | undefined) : found.get(id)));
  }

  async find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined> {
    const definition = indexesOf(collection)[index];
    if (!definition) throw new Error(`${collection} has no index ${index}`);
    const own = this.#writes.get(collection);
    for (const write of own?.values() ?? []) {
      const written = write.after && indexValues(write.after, definition);
      if (written && compareTuples(written, values) === 0) return write.after as Records[Name];
    }
    const record = await this.#base.find(collection, index, values);
    // A record that this transaction removed or changed is no longer found under its old values.
    return record && own?.has((record as AnyRecord).id) ? undefined : record;
  }

  async listMany<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name][][]> {
    if (!this.#writes.get(collection)?.size) {
      const found = await this.#base.listMany(collection, index, values);
      const records = found.flat() as AnyRecord[];
      this.#rememberList(
        collection,
        records.map(({ id }) => id),
        records,
      );
      return found;
    }
    const lists: Records[Name][][] = [];
    for (const value of values) lists.push(await collect(this.scan(collection, { index, equals: [value] })));
    return lists;
  }

  async *scan<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): AsyncIterable<Records[Name]> {
    const own = this.#writes.get(collection);
    if (!own || own.size === 0) {
      yield* this.#base.scan(collection, range);
      return;
    }
    const { skip = 0, limit = Number.POSITIVE_INFINITY, ...window } = range;
    const merged = await this.#merge(collection, window, own);
    yield* merged.slice(skip, skip + limit);
  }

  async count<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): Promise<number> {
    if (!this.#writes.get(collection)?.size) return this.#base.count(collection, range);
    let total = 0;
    for await (const _ of this.scan(collection, range)) total++;
    return total;
  }

  async insert<Name extends CollectionName>(collection: Name, record: Records[Name]): Promise<void> {
    const { id } = record as AnyRecord;
    if (await this.get(collection, id)) throw taken(collection, "id");
    await this.put(collection, record);
  }

  insertNew<Name extends CollectionName>(collection: Name, records: readonly Records[Name][]): void {
    const byId = this.#writesOf(collection);
    for (const record of records as readonly AnyRecord[]) {
      if (byId.has(record.id)) throw taken(collection, "id");
      this.#checkScope(collection, record);
      byId.set(record.id, { collection, id: record.id, before: undefined, after: record });
    }
  }

  async put<Name extends CollectionName>(collection: Name, record: Records[Name]): Promise<void> {
    const { id } = record as AnyRecord;
    for (const [name, definition] of Object.entries(indexesOf(collection))) {
      const values = definition.unique ? indexValues(record, definition) : undefined;
      const holder = values && (await this.find(collection, name as IndexName<Name>, values));
      if (holder && (holder as AnyRecord).id !== id) throw taken(collection, name);
    }
    await this.#write(collection, id, record as AnyRecord);
  }

  async remove<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<void> {
    await this.#write(collection, id, undefined);
  }

  async #write(collection: CollectionName, id: IndexValue, after: AnyRecord | undefined): Promise<void> {
    const byId = this.#writesOf(collection);
    const write = byId.get(id);
    const before = write ? write.before : await this.#committed(collection, id);
    if (after ?? before) this.#checkScope(collection, (after ?? before) as AnyRecord);
    if (write) write.after = after;
    else byId.set(id, { collection, id, before, after });
  }

  /** A write outside the scopes would not be serialized with others of its scope: an error of the program. */
  #checkScope(collection: CollectionName, record: AnyRecord): void {
    const isOfOrganization = ruleOf(collection) === ofOrganization;
    const organization = isOfOrganization ? (record as { organizationId?: string }).organizationId : undefined;
    if (organization !== undefined && organization === this.#organization) return;
    const scope = scopeOf(collection, record as never, this.slots);
    if (scope !== "any" && !this.#scopes.has(scope) && !this.#scopes.has("every")) {
      throw new Error(`${collection} ${record.id} is of the scope ${scope}; the transaction has ${[...this.#scopes].join(", ") || "none"}`);
    }
    this.#organization = organization ?? this.#organization;
  }

  #writesOf(collection: CollectionName): Map<IndexValue, Write> {
    const byId = this.#writes.get(collection) ?? new Map<IndexValue, Write>();
    this.#writes.set(collection, byId);
    return byId;
  }

  async #committed(collection: CollectionName, id: IndexValue): Promise<AnyRecord | undefined> {
    const known = this.#knownOf(collection);
    if (known.has(id)) return known.get(id);
    const record = (await this.#base.get(collection, id)) as AnyRecord | undefined;
    known.set(id, record);
    return record;
  }

  #knownOf(collection: CollectionName): Map<IndexValue, AnyRecord | undefined> {
    const known = this.#known.get(collection) ?? new Map<IndexValue, AnyRecord | undefined>();
    this.#known.set(collection, known);
    for (const [ids, records] of this.#lists.get(collection) ?? []) for (const [place, id] of ids.entries()) known.set(id, records[place]);
    this.#lists.delete(collection);
    return known;
  }

  #rememberList(collection: CollectionName, ids: readonly IndexValue[], records: readonly (AnyRecord | undefined)[]): void {
    const lists = this.#lists.get(collection);
    if (lists) lists.push([ids, records]);
    else this.#lists.set(collection, [[ids, records]]);
  }

  async #merge<Name extends CollectionName>(
    collection: Name,
    window: Range<Name>,
    own: ReadonlyMap<IndexValue, Write>,
  ): Promise<Records[Name][]> {
    const fields = window.index ? (indexesOf(collection)[window.index]?.fields ?? []) : [];
    const positionOf = (record: object) => {
      const values = indexValues(record, { fields });
      return values && [...values, (record as AnyRecord).id];
    };
    const found: { position: IndexValue[]; record: Records[Name] }[] = [];
    for await (const record of this.#base.scan(collection, window)) {
      const position = positionOf(record);
      if (position && !own.has((record as AnyRecord).id)) found.push({ position, record });
    }
    for (const { after } of own.values()) {
      const position = after && positionOf(after);
      if (position && inRange(position, window)) found.push({ position, record: after as Records[Name] });
    }
    const direction = window.reverse ? -1 : 1;
    found.sort((left, right) => direction * compareTuples(left.position, right.position));
    return found.map(({ record }) => record);
  }
}

function taken(collection: string, index: string): AppError {
  return new AppError("ALREADY_EXISTS", "A record with these values exists already.", { internal: `${collection}.${index} is taken` });
}
