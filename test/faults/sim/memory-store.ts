import { AppError } from "../../../common/errors.ts";
import { NotOwner } from "../../../control-plane/domain/not-owner.ts";
import {
  type CollectionName,
  type IndexName,
  type IndexValue,
  indexesOf,
  indexValues,
  type Records,
} from "../../../control-plane/stores/collections.ts";
import { type Fence, type Place, placesOf } from "../../../control-plane/stores/fence.ts";
import { ScopeQueues } from "../../../control-plane/stores/mongo/scope-queues.ts";
import { Overlay, type Write } from "../../../control-plane/stores/overlay.ts";
import { listOf, type Scope, type Scopes, scopeOf, slotOfScope } from "../../../control-plane/stores/scopes.ts";
import type { Range, Reader, Store, Transaction } from "../../../control-plane/stores/store.ts";
import { WriteQueue } from "../../../control-plane/stores/write-queue.ts";

type AnyRecord = { id: IndexValue };

/** What is committed: it survives every control plane. */
export class Tables implements Reader {
  readonly #records = new Map<CollectionName, Map<IndexValue, AnyRecord>>();
  /** The epoch of each slot that has had an owner. */
  readonly epochs = new Map<Scope, number>();
  /** Transactions that were committed in each scope that all control planes share. */
  readonly orders = new Map<Scope, number>();

  of(collection: CollectionName): Map<IndexValue, AnyRecord> {
    const known = this.#records.get(collection);
    if (known) return known;
    const records = new Map<IndexValue, AnyRecord>();
    this.#records.set(collection, records);
    return records;
  }

  async get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined> {
    return this.of(collection).get(id) as Records[Name] | undefined;
  }

  async getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]> {
    const records = this.of(collection);
    return ids.map((id) => records.get(id) as Records[Name] | undefined);
  }

  async find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined> {
    const definition = indexesOf(collection)[index] ?? { fields: [] };
    for (const record of this.of(collection).values()) {
      const found = indexValues(record, definition);
      if (found?.every((value, position) => value === values[position])) return record as Records[Name];
    }
    return undefined;
  }

  async listMany<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name][][]> {
    return values.map((value) => this.all(collection, { index, equals: [value] }));
  }

  /** Through an empty overlay's eyes it would be the same; here every range is sorted afresh, which is enough for a few hundred records. */
  async *scan<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): AsyncIterable<Records[Name]> {
    yield* this.all(collection, range);
  }

  all<Name extends CollectionName>(
    collection: Name,
    { index, equals = [], from, before, reverse, skip = 0, limit }: Range<Name> = {},
  ): Records[Name][] {
    const fields = index ? (indexesOf(collection)[index]?.fields ?? []) : [];
    const found: { position: IndexValue[]; record: AnyRecord }[] = [];
    for (const record of this.of(collection).values()) {
      const values = indexValues(record, { fields });
      if (!values) continue;
      const position = [...values, record.id];
      const next = position[equals.length];
      const isIn =
        equals.every((value, place) => position[place] === value) &&
        (from === undefined || (next !== undefined && next >= from)) &&
        (before === undefined || (next !== undefined && next < before));
      if (isIn) found.push({ position, record });
    }
    const direction = reverse ? -1 : 1;
    found.sort((left, right) => direction * compare(left.position, right.position));
    return found.slice(skip, limit === undefined ? undefined : skip + limit).map(({ record }) => record as Records[Name]);
  }

  async count<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): Promise<number> {
    return this.all(collection, range).length;
  }
}

export interface MemoryStoreOptions {
  readonly tables: Tables;
  /** What stands between a transaction's work and its commit; what it throws is what the caller sees. Undefined: no fault. */
  readonly commit: (writes: readonly Write[], apply: () => void) => Promise<void>;
  /** A planted bug may look through other glasses at what is committed, or write with another hand. */
  readonly reader?: (tables: Tables) => Reader;
  readonly apply?: (tables: Tables, writes: readonly Write[]) => void;
  readonly slots?: number;
  /** Absent: this control plane is the only one. */
  readonly fence?: Fence | undefined;
  /** A planted bug may commit whatever the epochs of slots are and whatever others have changed. */
  readonly isUnfenced?: boolean | undefined;
}

/** As many writers as a control plane has connections for. */
const RUNNING_MAX = 8;

/** Another control plane changed what the transaction depends on; it runs again. */
class Conflict extends Error {}

/**
 * One control plane's way to what is committed: the product's own overlay over maps. Ends with its process. As in a store of several control
 * planes, transactions of a shared scope and changes of a record without a scope conflict and run again. Records of a slot have nothing but
 * their epoch: conflicts of the store would hide a fence that is missing.
 */
export function memoryStore(options: MemoryStoreOptions): Store {
  const { tables, reader = (same) => same, slots = 1, fence } = options;
  const [one, several] = [new WriteQueue(), new ScopeQueues(RUNNING_MAX)];
  const base = reader(tables);
  return {
    slots,
    ownership: undefined,
    owns: (slot) => fence === undefined || fence.epochOf(slot) !== undefined,
    get: (collection, id) => base.get(collection, id),
    getMany: (collection, ids) => base.getMany(collection, ids),
    find: (collection, index, values) => base.find(collection, index, values),
    listMany: (collection, index, values) => base.listMany(collection, index, values),
    scan: (collection, range) => base.scan(collection, range),
    count: (collection, range) => base.count(collection, range),
    transaction: <T>(scopes: Scopes, work: (tx: Transaction) => Promise<T>) => {
      const list = listOf(scopes);
      const committed = () => untilCommitted(() => runOnce(options, { base, scopes: list, work }));
      return fence ? several.run(list, committed) : one.run(committed);
    },
    feedWithoutPrimary: () => undefined,
    onFeed: () => () => {},
    slotsPerTransaction: slots,
    rowsPerTransaction: 400,
    blobs: NO_BLOBS,
    ping: async () => {},
    close: () => (fence ? several.idle() : one.idle()),
  };
}

async function untilCommitted<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (thrown) {
      if (!(thrown instanceof Conflict)) throw thrown;
    }
  }
}

async function runOnce<T>(
  { tables, commit, apply = applyWrites, slots = 1, fence, isUnfenced }: MemoryStoreOptions,
  { base, scopes, work }: { base: Reader; scopes: readonly Scope[]; work: (tx: Transaction) => Promise<T> },
): Promise<T> {
  const places = placesOf(scopes, fence);
  const shared = fence ? scopes.filter((scope) => slotOfScope(scope) === undefined) : [];
  const orders = shared.map((scope) => tables.orders.get(scope));
  const overlay = new Overlay(base, { scopes, slots });
  const result = await work(overlay);
  const { writes } = overlay;
  await commit(writes, () => {
    if (!isUnfenced) {
      requireEpochs(tables, places);
      if (shared.some((scope, index) => tables.orders.get(scope) !== orders[index])) throw new Conflict();
      if (fence) requireUnchanged(tables, writes, slots);
    }
    apply(tables, writes);
    for (const scope of shared) tables.orders.set(scope, (tables.orders.get(scope) ?? 0) + 1);
  });
  return result;
}

function requireUnchanged(tables: Tables, writes: readonly Write[], slots: number): void {
  const isAny = ({ collection, before, after }: Write) => scopeOf(collection, (after ?? before) as never, slots) === "any";
  const changed = writes.some((write) => isAny(write) && tables.of(write.collection).get(write.id) !== write.before);
  if (changed) throw new Conflict();
}

function requireEpochs(tables: Tables, places: readonly Place[]): void {
  const lost = places.find(({ scope, epoch }) => epoch !== undefined && tables.epochs.get(scope) !== epoch);
  if (lost) throw new NotOwner(slotOfScope(lost.scope) ?? -1);
}

/** All of it or, when something that was said to be new is there, nothing. */
function applyWrites(tables: Tables, writes: readonly Write[]): void {
  const taken = writes.find(({ collection, id, before }) => !before && tables.of(collection).has(id));
  if (taken) throw new AppError("ALREADY_EXISTS", "It exists already.", { internal: `${taken.collection}.id is taken` });
  putWrites(tables, writes);
}

export function putWrites(tables: Tables, writes: readonly Write[]): void {
  for (const { collection, id, after } of writes) {
    if (after) tables.of(collection).set(id, after);
    else tables.of(collection).delete(id);
  }
}

const NO_BLOBS: Store["blobs"] = {
  put: () => Promise.reject(new Error("the simulation has no blobs")),
  get: async () => undefined,
  remove: async () => {},
};

function compare(left: readonly IndexValue[], right: readonly IndexValue[]): number {
  for (let place = 0; place < left.length; place++) {
    const [a, b] = [left[place] as IndexValue, right[place] as IndexValue];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}
