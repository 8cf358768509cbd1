/** One control plane of `make bench-money`: settles calls and grants leases for organizations in its own slots, and reports its figures. */
import { systemClock } from "../../common/clock.ts";
import { slotOf } from "../../common/slots.ts";
import { emptyAccount, organizationAccount } from "../../control-plane/domain/ledger.ts";
import { openMongoStore } from "../../control-plane/stores/mongo/store.ts";
import { organizationScope } from "../../control-plane/stores/scopes.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { grantLeases } from "../../control-plane/writes/leases.ts";
import { measureSettlement } from "./store-figures.ts";

export interface PlaneTask {
  readonly uri: string;
  readonly database: string;
  /** This plane's number, and how many there are. */
  readonly plane: number;
  readonly planes: number;
  readonly rows: number;
  readonly grants: number;
}

export interface PlaneFigures {
  readonly rowsPerSecond: number;
  readonly cpuSeconds: number;
  readonly grantsPerSecond: number;
}

const LEASED_ORGANIZATIONS = 64;
const GRANTS_AT_ONCE = 8;

process.once("message", async (task: PlaneTask) => {
  const store = await openMongoStore({ uri: task.uri, database: task.database });
  process.send?.({ ready: true });
  process.once("message", async () => {
    process.send?.({ figures: await measure(store, task) });
    await store.close();
    process.disconnect();
  });
});

async function measure(store: Store, task: PlaneTask): Promise<PlaneFigures> {
  const organizations = ownOrganizations(store.slots, task);
  const [organizationId = ""] = organizations;
  const { rowsPerSecond, cpuSeconds } = await measureSettlement(store, { first: task.plane * 1e7, rows: task.rows, organizationId });
  return { rowsPerSecond, cpuSeconds, grantsPerSecond: await measureGrants(store, organizations, task.grants) };
}

/** Organizations whose slots belong to this plane, and to no other. */
function ownOrganizations(slots: number, { plane, planes }: PlaneTask): string[] {
  const own: string[] = [];
  for (let index = 0; own.length < LEASED_ORGANIZATIONS; index++) {
    const id = `org_${String(index).padStart(33, "0")}`;
    if (slotOf(id, slots) % planes === plane) own.push(id);
  }
  return own;
}

async function measureGrants(store: Store, organizations: readonly string[], grants: number): Promise<number> {
  for (const id of organizations) {
    await store.transaction(organizationScope(store, id), (tx) =>
      tx.put("accounts", { ...emptyAccount(organizationAccount(id)), balance: 1_000_000_000_000n }),
    );
  }
  let next = 0;
  const startedMs = systemClock.monotonicMs();
  await Promise.all(
    Array.from({ length: GRANTS_AT_ONCE }, async () => {
      while (next < grants) {
        const number = next++;
        const organizationId = organizations[number % organizations.length] ?? "";
        const input = { edgeId: `edge-${number}`, organizationId, generation: 0, released: 0n, need: 1000n, want: 1000n, free: 0n };
        await store.transaction(organizationScope(store, organizationId), (tx) =>
          grantLeases(tx, [input], { heldOf: () => 0n, now: systemClock.now() }),
        );
      }
    }),
  );
  return (grants / (systemClock.monotonicMs() - startedMs)) * 1000;
}
