import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import { memoryStore, Tables } from "../../test/faults/sim/memory-store.ts";
import { emptyAccount, organizationAccount } from "../domain/ledger.ts";
import { reportedCall } from "../proof/ledger-fixture.ts";
import { collect } from "../stores/page.ts";
import { listOf, type Scopes, slotOfScope } from "../stores/scopes.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { grantLeases } from "../writes/leases.ts";
import { Reservations } from "./reservations.ts";
import { Settler } from "./settler.ts";

const SLOTS = 4;
const organizations = Array.from({ length: 12 }, (_, index) => `org_${index}`);
const [first = "", second = ""] = [0, 3].map((slot) => organizations.find((id) => slotOf(id, SLOTS) === slot) ?? "");
const call = (id: string, organizationId: string) => reportedCall(id, 1n, { organizationId, apiKeyId: `key_${organizationId}` });

/** A settler over a store whose transactions write one slot. `began` is what each was about, in order. */
async function open({ owns = (_slot: number): boolean => true } = {}) {
  const base = memoryStore({ tables: new Tables(), commit: async (_writes, apply) => apply(), slots: SLOTS });
  await base.transaction("every", async (tx) => {
    for (const id of organizations) await tx.insert("accounts", { ...emptyAccount(organizationAccount(id)), balance: 100n });
    const request = { edgeId: "dead", generation: 0, released: 0n, need: 5n, want: 5n, free: 0n };
    const inputs = [first, second].map((organizationId) => ({ ...request, organizationId }));
    await grantLeases(tx, inputs, { heldOf: () => 0n, now: systemClock.now() });
  });
  const began: (number | undefined)[][] = [];
  const store: Store = {
    ...base,
    slotsPerTransaction: 1,
    owns,
    transaction: <T>(scopes: Scopes, work: (tx: Transaction) => Promise<T>) => {
      began.push(listOf(scopes).map(slotOfScope));
      return base.transaction(scopes, work);
    },
  };
  const reservations = new Reservations({ reader: store, clock: systemClock, policy: "document" });
  return { store, began, settler: new Settler({ store, reservations, clock: systemClock, logger: silentLogger }) };
}

const leftOf = async (store: Store) =>
  (await collect(store.scan("leases"))).filter(({ expiresAt }) => expiresAt > systemClock.now()).length;

test("a report of many slots is settled in a transaction for each, and reports of one slot share it", async () => {
  const { store, settler, began } = await open();
  const [one, other] = await Promise.all([
    settler.settle(organizations.map((id) => call(`call_${id}`, id))),
    settler.settle([call("call_1", first), call("call_2", second)]),
  ]);
  expect(began.map((slots) => slots.length)).toEqual([1, 1, 1, 1]);
  expect(new Set(began.flat())).toEqual(new Set([0, 1, 2, 3]));
  expect([one.refused, other.refused, settler.waiting]).toEqual([[], [], 0]);
  expect(settler.figures.calls.settled).toBe(organizations.length + 2);
  expect((await store.get("accounts", organizationAccount(first)))?.balance).toBe(98n);
});

test("a report with a row of a foreign slot is refused, and what it settled elsewhere is not settled again", async () => {
  let isOwner = false;
  const { store, settler } = await open({ owns: (slot) => slot === 0 || isOwner });
  const rows = [call("call_1", first), call("call_2", second)];
  await expect(settler.settle(rows)).rejects.toMatchObject({ name: "NotOwner", slot: 3 });
  await settler.idle();
  isOwner = true;
  expect(await settler.settle(rows)).toMatchObject({ settled: 1, repeated: 1 });
  expect((await store.get("accounts", organizationAccount(first)))?.balance).toBe(99n);
});

test("leases of a dead edge end after all its calls are settled, each in a transaction of its slot", async () => {
  const { store, settler, began } = await open();
  const report = { edgeId: "edge", generations: new Map<string, number>(), returns: [], endedEdges: ["dead"] };
  expect(await leftOf(store)).toBe(2);
  await settler.settle([call("call_1", first), call("call_2", second)], report);
  expect(await leftOf(store)).toBe(0);
  expect(began.slice(0, 2).toSorted()).toEqual([[0], [3]]);
  expect(began.slice(2).toSorted()).toEqual([[0], [3]]);
});
