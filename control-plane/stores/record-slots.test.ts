import { revisionOf } from "../../common/feed-place.ts";
import { slotOf } from "../../common/slots.ts";
import { COLLECTION_NAMES, type CollectionName } from "./collections.ts";
import { laneOfScope } from "./feed-lanes.ts";
import { perTransaction, RecordSlots, SHARED_SLOT, SLOTTED } from "./record-slots.ts";
import { ruleOf, type Scope, scopeOf, slotOfScope } from "./scopes.ts";

const SLOTS = 256;
const records = new RecordSlots(SLOTS);
const own = (organizationId: string) => slotOf(organizationId, SLOTS);
const slots = (collection: CollectionName, given: readonly object[]) => given.map((record) => records.of(collection, record));

test("every record whose scope is a slot is in that slot, so that a transaction of a slot writes nothing elsewhere", () => {
  const samples: readonly object[] = [
    { id: "org_1", organizationId: "org_1", fromOrganizationId: "org_1" },
    { id: "org:org_2", organizationId: "org_2", fromOrganizationId: "org_3" },
    { id: "17", organizationId: "org_3", fromOrganizationId: "org_2" },
    { id: "leases/9", organizationId: "org_1", fromOrganizationId: "org_1" },
    { id: "feed/slot:30", organizationId: "org_1", fromOrganizationId: "org_1" },
    { id: "revenue/40", organizationId: "org_1", fromOrganizationId: "org_1" },
  ];
  let compared = 0;
  for (const collection of COLLECTION_NAMES) {
    for (const record of samples) {
      const rule = ruleOf(collection);
      const scope = typeof rule === "function" ? scopeOf(collection, record as never, SLOTS) : rule;
      const slot = slotOfScope(scope as Scope);
      if (slot === undefined || Number.isNaN(slot)) continue;
      expect([collection, records.of(collection, record)]).toEqual([collection, slot]);
      compared++;
    }
  }
  expect(compared).toBeGreaterThan(60);
});

test("records of no organization are shared ones where their collection has slots, and have no slot where it has none", () => {
  expect(slots("accounts", [{ id: "training:fed_1" }])).toEqual([SHARED_SLOT]);
  expect(slots("ledgerHead", [{ id: "head" }, { id: "3" }])).toEqual([SHARED_SLOT, 3]);
  expect(slots("counters", [{ id: "audit" }, { id: "records/team_1" }, { id: "feed/identity" }, { id: "feed" }])).toEqual(
    Array(4).fill(SHARED_SLOT),
  );
  expect(slots("users", [{ id: 1 }])).toEqual([undefined]);
  expect(SLOTTED).not.toContain("keys");
});

test("what a settlement writes without an order of its own is in the slot of its organization", () => {
  expect(slots("keyUses", [{ id: "key_1", organizationId: "org_1" }, { id: "key_2" }])).toEqual([own("org_1"), SHARED_SLOT]);
  // ADMIN_EMAIL decides whose the master key is.
  expect(slots("keyUses", [{ id: "key_master", organizationId: "org_1" }])).toEqual([SHARED_SLOT]);
  expect(slots("budgetUses", [{ id: "organization:org_1" }, { id: "team:t", organizationId: "org_2" }, { id: "model:m" }])).toEqual([
    own("org_1"),
    own("org_2"),
    SHARED_SLOT,
  ]);
  expect(slots("notices", [{ id: 1, organizationId: "org_1" }])).toEqual([own("org_1")]);
  expect(slots("counters", [{ id: "notices/17" }, { id: "notices" }])).toEqual([17, SHARED_SLOT]);
  const revision = (scope: Scope) => revisionOf(laneOfScope(scope) ?? 0, 5);
  expect(slots("feed", [{ id: revision("slot:17") }, { id: revision("slot:0") }, { id: revision("identity") }, { id: 5 }])).toEqual([
    17,
    0,
    SHARED_SLOT,
    SHARED_SLOT,
  ]);
});

test("the slot of an id is that of its record; where the id does not say it, it is the slot of the transaction that reads", () => {
  expect(records.ofId("accounts", "org:org_1", 9)).toEqual([own("org_1")]);
  expect(records.ofId("leases", "edge/1/org_1", undefined)).toEqual([own("org_1")]);
  expect(records.ofId("usage", "call_1", 9)).toEqual([9]);
  expect(records.ofId("budgetUses", "model:m", 9)).toEqual([9, SHARED_SLOT]);
  expect([records.ofId("usage", "call_1", undefined), records.ofId("keys", "key_1", 9)]).toEqual([undefined, undefined]);
  expect([records.ofOrganizations("teams", ["org_1", "org_2"]), records.ofOrganizations("keys", ["org_1"])]).toEqual([
    [own("org_1"), own("org_2")],
    undefined,
  ]);
});

test("records are divided into transactions of as many slots as one may write", () => {
  const leases = ["org_1", "org_2", "org_1", "org_3"].map((organizationId, index) => ({
    ...{ id: String(index), edgeId: "e", organizationId, generation: 1, granted: 0n, settled: 0n, released: 0n, expiresAt: 1 },
  }));
  const ids = (slotsPerTransaction: number) =>
    perTransaction({ slots: SLOTS, slotsPerTransaction }, "leases", leases).map((group) => group.map(({ id }) => id));
  expect(ids(1)).toEqual([["0", "2"], ["1"], ["3"]]);
  expect(ids(2)).toEqual([["0", "2", "1"], ["3"]]);
  expect(ids(SLOTS)).toEqual([["0", "1", "2", "3"]]);
  expect(perTransaction({ slots: SLOTS, slotsPerTransaction: 1 }, "leases", [])).toEqual([]);
});
