import type { Disk, DiskFile } from "../../../common/disk.ts";
import { slotOf } from "../../../common/slots.ts";
import type { Account, Lease } from "../../../control-plane/domain/records.ts";
import { deliverOutbox, type OutboxDeps } from "../../../control-plane/jobs/deliver-outbox.ts";
import { Ownership } from "../../../control-plane/slots/ownership.ts";
import type { CollectionName } from "../../../control-plane/stores/collections.ts";
import type { Write } from "../../../control-plane/stores/overlay.ts";
import { collect } from "../../../control-plane/stores/page.ts";
import { organizationScope } from "../../../control-plane/stores/scopes.ts";
import type { Reader } from "../../../control-plane/stores/store.ts";
import { LeaseAccount } from "../../../gateway-edge/credit/lease-account.ts";
import type { SettleRequest } from "../../../proto/gen/tributary/access/v1/access.ts";
import { putWrites, type Tables } from "./memory-store.ts";
import type { CreditHandlers, Mutant } from "./mutant.ts";
import type { Invariant } from "./oracle.ts";

export interface PlantedBug extends Mutant {
  readonly name: string;
  /** What must notice it. */
  readonly caughtBy: Invariant;
  /** A seed that notices it. It changes with the plan of seeds; `make fault-mutants` prints it. */
  readonly foundAt: number;
}

/** Sixteen ways to lose or make up money. The simulation has to catch each by the invariant that it breaks, or it proves nothing. */
export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "a sync is skipped",
    caughtBy: "I17",
    foundAt: 71,
    disk: (disk) => withFiles(disk, (file) => ({ ...file, datasync: async () => {} })),
  },
  {
    name: "a settlement is not looked up before it is written",
    caughtBy: "I3",
    foundAt: 5,
    reader: (tables) => overReader(tables, { getMany: blindFor(tables, "usage") }),
    apply: putWrites,
  },
  {
    name: "a batch counts as settled although its answer never came",
    caughtBy: "I17",
    foundAt: 2,
    access: (access) => ({ ...access, settle: (request, options) => access.settle(request, options).catch(() => NOTHING_SETTLED) }),
  },
  { name: "the journal of the process before is not read", caughtBy: "I17", foundAt: 1, disk: (disk) => over(disk, { list: () => [] }) },
  {
    name: "what the upstream sent is noted, not what was delivered",
    caughtBy: "I16",
    foundAt: 7,
    credit: (credit) =>
      over(credit, { progress: (note) => credit.progress({ ...note, usage: { ...note.usage, output: note.usage.output + 64 } }) }),
  },
  {
    name: "the last byte does not wait for the journal",
    caughtBy: "I17",
    foundAt: 6,
    credit: (credit) => over(credit, { settle: async (log) => void credit.settle(log).catch(() => {}) }),
  },
  {
    name: "a lease never runs out",
    caughtBy: "I8",
    foundAt: 1,
    apply: (tables, writes) => applyAs(tables, writes, "leases", (lease: Lease) => ({ ...lease, expiresAt: Number.MAX_SAFE_INTEGER })),
  },
  { name: "what running calls hold counts as free", caughtBy: "I6", foundAt: 11, patch: countHeldAsFree },
  {
    name: "the leases of other edges are not counted",
    caughtBy: "I6",
    foundAt: 47,
    reader: (tables) =>
      overReader(tables, {
        scan: (collection, range) =>
          collection === "leases" && range?.index === "byOrganization" ? NOTHING : tables.scan(collection, range),
      }),
  },
  {
    name: "a balance is a floating point number",
    caughtBy: "I1",
    foundAt: 5,
    apply: (tables, writes) =>
      applyAs(tables, writes, "accounts", (account: Account) => ({ ...account, balance: BigInt(Number(account.balance)) })),
  },
  {
    name: "a settlement after its lease is dropped",
    caughtBy: "I17",
    foundAt: 60,
    handlers: (handlers, tables, now) => ({
      ...handlers,
      settle: (request, context) => handlers.settle(withoutLate(request, tables, now()), context),
    }),
  },
  {
    name: "what is given back is added up at every repetition",
    caughtBy: "I6",
    foundAt: 11,
    handlers: (handlers) => {
      const sums = new Map<string, bigint>();
      return { ...handlers, settle: (request, context) => handlers.settle(addedUp(request, sums), context) };
    },
  },
  { name: "the leases of a dead edge end before its calls are settled", caughtBy: "I6", foundAt: 1, handlers: endLeasesFirst },
  // Without the epoch a control plane that was paused writes what it has read before others wrote.
  { name: "a commit is not fenced", caughtBy: "I2", foundAt: 11, isUnfenced: true, apply: putWrites },
  { name: "a control plane answers for a slot that another one owns", caughtBy: "I4", foundAt: 293, patch: answerForEver },
  { name: "a payment's outbox row is removed before the payment has arrived", caughtBy: "I19", foundAt: 8, outbox: endRowsUnseen },
];

const NOTHING_SETTLED = { settled: 0n, repeatedBefore: 0n };
const NOTHING = { async *[Symbol.asyncIterator]() {} };

/** An object of a class with some of its methods replaced. */
function over<T extends object>(object: T, replaced: Partial<T>): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value = Reflect.get(name in replaced ? replaced : target, name) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function withFiles(disk: Disk, change: (file: DiskFile) => DiskFile): Disk {
  return over(disk, { create: (path) => change(disk.create(path)), append: (path) => change(disk.append(path)) });
}

function overReader(tables: Tables, replaced: Partial<Reader>): Reader {
  return over<Reader>(tables, replaced);
}

function blindFor(tables: Tables, blind: CollectionName): Reader["getMany"] {
  return async (collection, ids) => (collection === blind ? ids.map(() => undefined) : tables.getMany(collection, ids));
}

function applyAs<R extends { id: string }>(
  tables: Tables,
  writes: readonly Write[],
  collection: CollectionName,
  change: (record: R) => R,
): void {
  putWrites(
    tables,
    writes.map((write) =>
      write.collection === collection && write.after ? { ...write, after: change(write.after as unknown as R) } : write,
    ),
  );
}

function countHeldAsFree(): () => void {
  const { left } = LeaseAccount.prototype;
  LeaseAccount.prototype.left = function (nowMs) {
    return left.call(this, nowMs) + this.held;
  };
  return () => {
    LeaseAccount.prototype.left = left;
  };
}

function withoutLate(request: SettleRequest, tables: Tables, now: number): SettleRequest {
  const isLate = ({ log, leaseGeneration }: SettleRequest["settlements"][number]) => {
    if (leaseGeneration === 0n) return false;
    const lease = tables.of("leases").get(`${request.edgeId}/${log?.organizationId}`) as Lease | undefined;
    return lease === undefined || BigInt(lease.generation) !== leaseGeneration || lease.expiresAt <= now;
  };
  return { ...request, settlements: request.settlements.filter((settlement) => !isLate(settlement)) };
}

function addedUp(request: SettleRequest, sums: Map<string, bigint>): SettleRequest {
  const returns = request.returns.map((each) => {
    const name = `${request.edgeId} ${each.organizationId} ${each.generation}`;
    const released = (sums.get(name) ?? 0n) + each.released;
    sums.set(name, released);
    return { ...each, released };
  });
  return { ...request, returns };
}

/** Ends the leases of the process before as soon as the next process on a disk sends a request. */
function endLeasesFirst(handlers: CreditHandlers): CreditHandlers {
  const known = new Set<string>();
  const endBefore = async (edgeId: string, context: Parameters<CreditHandlers["settle"]>[1]) => {
    const [slot, life] = edgeId.split(".");
    if (known.has(edgeId) || life === undefined || life === "1") return;
    known.add(edgeId);
    const endedEdges = [`${slot}.${Number(life) - 1}`];
    await handlers.settle({ settlements: [], edgeId, returns: [], endedEdges }, context);
  };
  return {
    ...handlers,
    lease: async (request, context) => {
      await endBefore(request.edgeId, context);
      return await handlers.lease(request, context);
    },
    settle: async (request, context) => {
      await endBefore(request.edgeId, context);
      return await handlers.settle(request, context);
    },
  };
}

/** What a control plane once owned it owns for ever, as it believes. */
function answerForEver(): () => void {
  const { isOwned } = Ownership.prototype;
  const owned = new WeakMap<Ownership, Set<number>>();
  Ownership.prototype.isOwned = function (slot) {
    const known = owned.get(this) ?? new Set();
    owned.set(this, known);
    if (isOwned.call(this, slot)) known.add(slot);
    return known.has(slot);
  };
  return () => {
    Ownership.prototype.isOwned = isOwned;
  };
}

/** The owner of the paying slot takes every row for delivered. */
async function endRowsUnseen(now: number, deps: OutboxDeps): Promise<void> {
  await deliverOutbox(now, deps);
  const { store } = deps;
  for (const { id, fromOrganizationId } of await collect(store.scan("outbox"))) {
    if (!store.owns(slotOf(fromOrganizationId, store.slots))) continue;
    await store.transaction(organizationScope(store, fromOrganizationId), (tx) => tx.remove("outbox", id));
  }
}
