import { slotOf } from "../../common/slots.ts";
import { isOwn, organizationScope, scopeOf, scopesOf } from "./scopes.ts";

const SLOTS = 256;
const slot = (organizationId: string) => `slot:${slotOf(organizationId, SLOTS)}`;
const account = (id: string) => ({ id, balance: 0n, seq: 0, updatedAt: 0, purchased: 0n, granted: 0n, rewarded: 0n, used: 0n });

test("an account belongs to the slot of its organization, to its federation, or as one of the platform to the slot that it names", () => {
  const scopes = ["org:org_1", "training:fed_1", "revenue/17", "grants/0"].map((id) => scopeOf("accounts", account(id), SLOTS));
  expect(scopes).toEqual([slot("org_1"), "federation:fed_1", "slot:17", "slot:0"]);
});

test("a counter belongs to what it numbers", () => {
  const scopes = ["audit", "users", "records/team_1", "leases/17", "notices/17"].map((id) => scopeOf("counters", { id, value: 1 }, SLOTS));
  expect(scopes).toEqual(["audit", "identity", "team-records:team_1", "slot:17", "any"]);
});

test("records and contents belong to their team, bytes to their organization", () => {
  expect(scopeOf("contents", { id: "team_1/file_1", bytes: 1 }, SLOTS)).toBe("team-records:team_1");
  expect(scopeOf("storage", { id: "org_1", fileBytes: 1 }, SLOTS)).toBe("storage:org_1");
});

test("the scopes of records are those that need order, each once", () => {
  const lease = { edgeId: "e", generation: 1, granted: 0n, settled: 0n, released: 0n, expiresAt: 1 };
  const leases = ["org_1", "org_1", "org_2"].map((organizationId, index) => ({ ...lease, id: String(index), organizationId }));
  expect(scopesOf("leases", leases, SLOTS)).toEqual([slot("org_1"), slot("org_2")]);
  expect(scopesOf("idempotency", [{ id: "i", requestHash: "", expiresAt: 1 }], SLOTS)).toEqual([]);
});

test("what is shared is everybody's, a slot only its owner's", () => {
  const store = { slots: SLOTS, owns: (owned: number) => owned === 17 };
  expect((["identity", "any", "slot:17", "slot:18"] as const).map((scope) => isOwn(store, scope))).toEqual([true, true, true, false]);
  expect(organizationScope({ slots: 1 }, "org_1")).toBe("slot:0");
});
