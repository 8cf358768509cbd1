import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import { memoryStore, Tables } from "../../test/faults/sim/memory-store.ts";
import { reportedCall } from "../proof/ledger-fixture.ts";
import { collect } from "../stores/page.ts";
import { slotScope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import { grantLeases } from "../writes/leases.ts";
import { Reservations } from "./reservations.ts";
import { type SettledRows, Settler } from "./settler.ts";

const SLOTS = 4;
const [HERE, ALSO_HERE, ELSEWHERE] = organizationsOf([0, 1, 2]);

/** An organization of each slot. */
function organizationsOf(slots: readonly number[]): string[] {
  const names = Array.from({ length: 100 }, (_, index) => `org_${index}`);
  return slots.map((slot) => names.find((name) => slotOf(name, SLOTS) === slot) ?? "");
}

/** A control plane that owns the slots 0 and 1, under the epoch 1. `onCommit` runs before a commit. */
function open(onCommit: (tables: Tables) => void = () => {}, settledRows?: SettledRows) {
  const tables = new Tables();
  for (let slot = 0; slot < SLOTS; slot++) tables.epochs.set(slotScope(slot), 1);
  let commits = 0;
  const commit = async (_writes: unknown, apply: () => void) => {
    commits++;
    onCommit(tables);
    apply();
  };
  const store = memoryStore({ tables, commit, slots: SLOTS, fence: { epochOf: (slot) => (slot < 2 ? 1 : undefined) } });
  const reservations = new Reservations({ reader: store, clock: systemClock, policy: "document" });
  const settler = new Settler({ store, reservations, clock: systemClock, logger: silentLogger, settledRows });
  return { store, settler, commits: () => commits };
}

const call = (id: string, organizationId: string | undefined, cost = 1n) =>
  reportedCall(id, cost, { organizationId: organizationId ?? "" });
const settledIds = async (store: Store) => (await collect(store.scan("usage"))).map(({ id }) => id);

test("a call that is reported again with other content is refused for its reporter and audited; the rest of its batch is settled", async () => {
  const { store, settler } = open();
  await settler.settle([call("call_1", HERE, 10n)]);
  const [mismatched, other] = await Promise.all([
    settler.settle([call("call_1", HERE, 11n), call("call_2", HERE, 1n)]),
    settler.settle([call("call_3", ALSO_HERE, 2n)]),
  ]);
  expect([mismatched.refused, other.refused]).toEqual([["call_1"], []]);
  expect((await store.get("accounts", `org:${HERE}`))?.balance).toBe(-11n);
  expect((await store.get("accounts", `org:${ALSO_HERE}`))?.balance).toBe(-2n);
  const lines = await collect(store.scan("audit"));
  expect(lines.map(({ action, target }) => [action, target])).toEqual([["settlement.mismatch", "call_1"]]);
});

test("whoever follows settled rows gets each once, as it is stored, and hears of a commit that failed", async () => {
  let isFailing = false;
  const followed: string[] = [];
  const forgotten: string[] = [];
  let begun = 0;
  const begunAtCommit: number[] = [];
  const onCommit = () => {
    begunAtCommit.push(begun);
    if (isFailing) throw new Error("the outcome is not known");
  };
  const { settler } = open(onCommit, {
    begin: () => {
      begun++;
      return () => void begun--;
    },
    add: (rows) => void followed.push(...rows.map(({ id, ledgerSeq }) => `${id} ${ledgerSeq === undefined ? "free" : "charged"}`)),
    forget: (isUncertain) => void forgotten.push(...[HERE, ALSO_HERE].flatMap((id) => (id !== undefined && isUncertain(id) ? [id] : []))),
  });
  await settler.settle([call("call_1", HERE), call("call_2", HERE)]);
  await settler.settle([call("call_2", HERE), call("call_3", HERE, 0n)]);
  isFailing = true;
  await expect(settler.settle([call("call_4", HERE)])).rejects.toThrow("the outcome is not known");
  expect(followed).toEqual(["call_1 charged", "call_2 charged", "call_3 free"]);
  expect(forgotten).toEqual([HERE]);
  await settler.idle();
  expect([begunAtCommit, begun]).toEqual([[1, 1, 1], 0]);
});

test("figures count what became of each call once, and committed batches only", async () => {
  const { settler } = open();
  await settler.settle([call("call_1", HERE, 10n), call("call_2", HERE)]);
  await Promise.all([
    settler.settle([call("call_1", HERE, 11n), call("call_2", HERE)]),
    settler.settle([call("call_3", ALSO_HERE), call("call_4", HERE)]),
  ]);
  await expect(settler.settle([call("call_5", ELSEWHERE)])).rejects.toThrow();
  expect(settler.figures).toEqual({ batches: 2, calls: { settled: 4, repeated: 1, refused: 1 } });
  expect(settler.waiting).toBe(0);
});

test("calls of several slots are settled in one transaction; a report with one of a foreign slot is refused as a whole and can be sent again", async () => {
  const { store, settler, commits } = open();
  const outcomes = await Promise.allSettled([
    settler.settle([call("call_1", HERE), call("call_2", ALSO_HERE)]),
    settler.settle([call("call_3", HERE), call("call_4", ELSEWHERE)]),
  ]);
  expect(outcomes).toMatchObject([{ value: { settled: 2 } }, { reason: { name: "NotOwner", slot: 2 } }]);
  expect([await settledIds(store), commits()]).toEqual([["call_1", "call_2"], 1]);
  expect((await settler.settle([call("call_3", HERE)])).settled).toBe(1);
});

test("a slot that is lost before the commit takes only its own reports with it", async () => {
  const { store, settler, commits } = open((tables) => tables.epochs.set("slot:1", 2));
  const outcomes = await Promise.allSettled([
    settler.settle([call("call_1", HERE)]),
    settler.settle([call("call_2", ALSO_HERE)]),
    settler.settle([call("call_3", HERE)]),
  ]);
  expect(outcomes).toMatchObject([{ value: { settled: 2 } }, { reason: { name: "NotOwner", slot: 1 } }, { status: "fulfilled" }]);
  expect([await settledIds(store), commits()]).toEqual([["call_1", "call_3"], 2]);
});

test("leases of a dead edge end in the slots of this control plane, and stay in others", async () => {
  const { store, settler } = open();
  const organizations = [HERE, ELSEWHERE].map((organizationId) => organizationId ?? "");
  for (const organizationId of organizations) {
    const input = { edgeId: "dead", organizationId, need: 0n, want: 5n, free: 0n, generation: 0, released: 0n };
    const account = {
      id: `org:${organizationId}`,
      balance: 100n,
      seq: 0,
      updatedAt: 0,
      purchased: 0n,
      granted: 0n,
      rewarded: 0n,
      used: 0n,
    };
    await store.transaction("every", async (tx) => {
      await tx.put("accounts", account);
      await grantLeases(tx, [input], { heldOf: () => 0n, now: systemClock.now() });
    });
  }
  await settler.settle([], { edgeId: "b", generations: new Map(), returns: [], endedEdges: ["dead"] });
  const leases = await collect(store.scan("leases"));
  const live = leases.filter(({ expiresAt }) => expiresAt > systemClock.now()).map(({ organizationId }) => organizationId);
  expect([leases.length, live]).toEqual([2, [ELSEWHERE]]);
});
