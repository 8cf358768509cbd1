import { slotOf } from "../../common/slots.ts";
import { emptyAccount, organizationAccount } from "../domain/ledger.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { Scopes } from "../stores/scopes.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { settleLease } from "../writes/leases.ts";
import { EndedCalls } from "./ended-calls.ts";
import { Leases } from "./leases.ts";

const ORGANIZATION = "org_1";
const ACCOUNT = organizationAccount(ORGANIZATION);

let opened: ReturnType<typeof openTestStore>;
beforeEach(() => {
  opened = openTestStore();
});
afterEach(() => opened.close());

const REQUEST = { free: 0n, generation: 0, released: 0n };

const options = () => ({
  clock: { now: () => 1000 } as ConstructorParameters<typeof Leases>[0]["clock"],
  policy: "document" as const,
  reservations: { reservedOf: () => 0n, withhold: () => () => {} },
  ended: { learn: async () => true, inVain: () => {} },
});

/** Two edges over one balance; `onCatchUp` is what the other edge brings when it is asked. */
async function open(balance: bigint, onCatchUp: () => Promise<void> = async () => {}) {
  const { store } = opened;
  await store.transaction("every", (tx) => tx.insert("accounts", { ...emptyAccount(ACCOUNT), balance }));
  const state = { asked: 0 };
  const leases = new Leases({
    ...options(),
    store,
    ended: new EndedCalls({
      edges: {
        caughtUp: async () => {},
        recall: async () => {
          state.asked++;
          await new Promise((resolve) => setImmediate(resolve));
          await onCatchUp();
        },
      },
      clock: { after: () => () => {} },
    }),
  });
  const ask = (edgeId: string, need: bigint) => leases.lease({ edgeId, organizationId: ORGANIZATION, need, want: need, ...REQUEST });
  return { store, ask, state, leases };
}

/** Edge a's call is settled: what it cost leaves the balance and its lease. */
async function settleAtA(cost: bigint, released: bigint): Promise<void> {
  await opened.store.transaction("every", async (tx) => {
    const account = await tx.get("accounts", ACCOUNT);
    const lease = await tx.get("leases", `a/${ORGANIZATION}`);
    if (!account || !lease) throw new Error("there must be both");
    await tx.put("accounts", { ...account, balance: account.balance - cost });
    await settleLease(tx, { edgeId: "a", organizationId: ORGANIZATION, generation: lease.generation, released, settled: cost }, 1000);
  });
}

test("who finds nothing because another edge has it is answered by what that edge brings: the team is blocked", async () => {
  const { ask, state } = await open(100n, () => settleAtA(130n, 0n));
  expect((await ask("a", 100n)).granted).toBe(100n);
  expect(await ask("b", 10n)).toMatchObject({ granted: 0n, isBlocked: true });
  expect(state.asked).toBe(1);
});

test("or gets what a call that ended there left", async () => {
  const { ask } = await open(100n, () => settleAtA(40n, 60n));
  await ask("a", 100n);
  expect(await ask("b", 10n)).toMatchObject({ granted: 10n, isBlocked: false });
});

test("figures count what came of each request once, also of one that waited for the other edges", async () => {
  const { ask, leases } = await open(100n, () => settleAtA(130n, 0n));
  await ask("a", 100n);
  await ask("b", 10n);
  await ask("a", 0n);
  expect(leases.figures).toEqual({ granted: 1, refused: 1, unchanged: 1 });
});

test("edges are asked once for all who are refused at the same time", async () => {
  const { ask, state } = await open(100n);
  await ask("a", 100n);
  const refused = await Promise.all(["b", "c", "d"].map((edge) => ask(edge, 10n)));
  expect(refused.map(({ granted }) => granted)).toEqual([0n, 0n, 0n]);
  expect(state.asked).toBe(1);
});

test("edges are not flushed where it could change nothing: all is spent, the team is blocked, or no call needs credit", async () => {
  const spent = await open(0n);
  await spent.ask("b", 10n);
  expect(spent.state.asked).toBe(0);
  await spent.store.transaction("every", async (tx) => tx.put("accounts", { ...emptyAccount(ACCOUNT), balance: 100n }));
  await spent.ask("a", 100n);
  await spent.ask("b", 0n);
  await spent.store.transaction("every", async (tx) => tx.put("accounts", { ...emptyAccount(ACCOUNT), balance: -1n }));
  expect(await spent.ask("b", 10n)).toMatchObject({ isBlocked: true });
  expect(spent.state.asked).toBe(0);
});

test("requests of many organizations share commits however many wait, and one whose slot is lost is refused alone", async () => {
  const { store, close } = openTestStore({ slots: 16 });
  try {
    const organizations = Array.from({ length: 600 }, (_, number) => `org_${number}`);
    await store.transaction("every", async (tx) => {
      for (const id of organizations) await tx.insert("accounts", { ...emptyAccount(organizationAccount(id)), balance: 100n });
    });
    const lost = slotOf("org_7", store.slots);
    let commits = 0;
    const counted: Store = Object.assign(Object.create(store) as Store, {
      owns: () => true,
      transaction: <T>(scopes: Scopes, work: (tx: Transaction) => Promise<T>) => {
        commits++;
        if (scopes.includes(`slot:${lost}`)) return Promise.reject(new NotOwner(lost));
        return store.transaction(scopes, work);
      },
    });
    const leases = new Leases({ ...options(), store: counted });
    const outcomes = await Promise.allSettled(
      organizations.map((organizationId) => leases.lease({ ...REQUEST, edgeId: "a", organizationId, need: 30n, want: 30n })),
    );
    outcomes.forEach((outcome, position) => {
      const isLost = slotOf(`org_${position}`, store.slots) === lost;
      expect(outcome).toMatchObject(isLost ? { reason: { slot: lost } } : { value: { granted: 30n } });
    });
    expect(commits).toBe(2);
  } finally {
    await close();
  }
});

test("two edges that ask for the same credit in one commit get no more than there is", async () => {
  const { leases } = await open(100n);
  const ask = (edgeId: string) => leases.lease({ ...REQUEST, edgeId, organizationId: ORGANIZATION, need: 60n, want: 60n });
  const answers = await Promise.all([ask("a"), ask("b")]);
  expect(answers.map(({ granted }) => granted).toSorted()).toEqual([40n, 60n]);
});

test("a request whose edge no longer waits is not granted: it would only delay those that wait", async () => {
  const { leases, store } = await open(1_000n);
  const request = { ...REQUEST, organizationId: ORGANIZATION, need: 60n, want: 60n };
  const gone = leases.lease({ ...request, edgeId: "a" }, AbortSignal.abort());
  const waiting = leases.lease({ ...request, edgeId: "b" }, new AbortController().signal);
  await expect(gone).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect((await waiting).granted).toBe(60n);
  expect(await store.getMany("leases", [`a/${ORGANIZATION}`, `b/${ORGANIZATION}`])).toMatchObject([undefined, { granted: 60n }]);
});
