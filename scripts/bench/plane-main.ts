/**
 * One control plane of `make bench-money`: owns slots beside the other planes of its database, settles calls and grants leases for
 * organizations in them when it is asked to, and reports its figures.
 */
import { pause, systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import { Leases } from "../../control-plane/credit/leases.ts";
import { Reservations } from "../../control-plane/credit/reservations.ts";
import { emptyAccount, organizationAccount } from "../../control-plane/domain/ledger.ts";
import { placeOf } from "../../control-plane/slots/rendezvous.ts";
import type { Slots } from "../../control-plane/slots/slots.ts";
import { LateFence, startSlots } from "../../control-plane/slots/start-slots.ts";
import { openMongoStore } from "../../control-plane/stores/mongo/store.ts";
import { organizationScope } from "../../control-plane/stores/scopes.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { measureSettlement } from "./store-figures.ts";
import { WrittenDocuments } from "./written-documents.ts";

/** What a plane is started with. */
export interface PlaneTask {
  readonly uri: string;
  readonly database: string;
  /** This plane's number, and how many there are. */
  readonly plane: number;
  readonly planes: number;
}

/** One measurement. */
export interface PlaneWork {
  readonly rows: number;
  readonly grants: number;
  /** Whether the documents that it writes are reported, which costs CPU. */
  readonly isCounted: boolean;
}

export interface PlaneFigures {
  readonly rowsPerSecond: number;
  /** CPU of this process per 1,000 rows. */
  readonly cpuSeconds: number;
  readonly grantsPerSecond: number;
  /** Collection and id of each document that was written, if they are counted. */
  readonly written: readonly string[];
}

const LEASED_ORGANIZATIONS = 64;
const GRANTS_AT_ONCE = 32;
const EDGES = 3;
const LOOK_MS = 100;
/** Above the largest number of rows that one plane settles. */
const ROWS_OF_A_PLANE = 1e7;

process.once("message", async (task: PlaneTask) => {
  const plane = await openPlane(task);
  process.on("message", async (work: PlaneWork) => process.send?.(await plane.measure(work)));
  process.send?.("ready");
});

/** Resolves when each slot is with its plane. */
async function openPlane(task: PlaneTask): Promise<{ measure(work: PlaneWork): Promise<PlaneFigures> }> {
  const documents = new WrittenDocuments();
  const fence = new LateFence();
  const store = await openMongoStore({ uri: task.uri, database: task.database, fence, onCommand: documents.onCommand });
  store.onFeed(() => undefined);
  const self = { id: `plane-${task.plane}`, address: `bench:${task.plane}` };
  const slots = await startSlots({ store, clock: systemClock, logger: silentLogger, self }, fence);
  while (!isPlaced(slots, task.planes)) await pause(systemClock, LOOK_MS, new AbortController().signal);
  const organizations = ownOrganizations(slots);
  await giveCredit(store, organizations);
  const [organizationId = ""] = organizations;
  let first = task.plane * ROWS_OF_A_PLANE;
  return {
    async measure({ rows, grants, isCounted }) {
      if (isCounted) documents.begin();
      const { rowsPerSecond, cpuSeconds } = await measureSettlement(store, { first, rows, organizationId });
      first += rows;
      const grantsPerSecond = await measureGrants(store, organizations, grants);
      return { rowsPerSecond, cpuSeconds, grantsPerSecond, written: isCounted ? documents.end() : [] };
    },
  };
}

function isPlaced(slots: Slots, planes: number): boolean {
  const ids = slots.planes().map(({ id }) => id);
  if (ids.length !== planes) return false;
  return Array.from({ length: slots.count }, (_, slot) => slot).every((slot) => slots.ownerOf(slot)?.id === placeOf(slot, ids));
}

/** Organizations whose slots this plane owns. */
function ownOrganizations(slots: Slots): string[] {
  const own: string[] = [];
  for (let index = 0; own.length < LEASED_ORGANIZATIONS; index++) {
    const id = `org_${String(index).padStart(33, "0")}`;
    if (slots.isOwned(slotOf(id, slots.count))) own.push(id);
  }
  return own;
}

async function giveCredit(store: Store, organizations: readonly string[]): Promise<void> {
  for (const id of organizations) {
    await store.transaction(organizationScope(store, id), (tx) =>
      tx.put("accounts", { ...emptyAccount(organizationAccount(id)), balance: 1_000_000_000_000n }),
    );
  }
}

/** Edges ask for leases of one organization after the other, as many at once as the edges of a busy platform. */
async function measureGrants(store: Store, organizations: readonly string[], grants: number): Promise<number> {
  const reservations = new Reservations({ reader: store, clock: systemClock, policy: "document" });
  const leases = new Leases({
    store,
    clock: systemClock,
    policy: "document",
    reservations,
    ended: { learn: async () => true, inVain: () => {} },
  });
  let next = 0;
  const startedMs = systemClock.monotonicMs();
  await Promise.all(
    Array.from({ length: GRANTS_AT_ONCE }, async () => {
      while (next < grants) {
        const number = next++;
        const organizationId = organizations[number % organizations.length] ?? "";
        const edgeId = `edge-${Math.floor(number / organizations.length) % EDGES}`;
        await leases.lease({ edgeId, organizationId, generation: 0, released: 0n, need: 1000n, want: 1000n, free: 0n });
      }
    }),
  );
  if (leases.figures.granted !== grants) throw new Error(`${leases.figures.granted} of ${grants} leases were granted`);
  return (grants / (systemClock.monotonicMs() - startedMs)) * 1000;
}
