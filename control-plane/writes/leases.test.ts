import fc from "fast-check";
import { emptyAccount, organizationAccount } from "../domain/ledger.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { endLeases, grantLeases, leasedOf, leasesOfEdges, settleLease } from "./leases.ts";

const ORGANIZATION = "org_1";
const START = 1000n;

async function withBalance(balance: bigint, work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore();
  try {
    const account = { ...emptyAccount(organizationAccount(ORGANIZATION)), balance };
    await store.transaction("every", (tx) => tx.insert("accounts", account));
    await work(store);
  } finally {
    await close();
  }
}

interface Edge {
  id: string;
  generation: number;
  granted: bigint;
  spent: bigint;
  released: bigint;
}

const ask = (store: Store, edge: Edge, need: bigint, { want = need, now = 0, held = 0n, free = 0n } = {}) =>
  store.transaction("every", async (tx) => {
    const input = { edgeId: edge.id, organizationId: ORGANIZATION, need, want, free };
    const request = { ...input, generation: edge.generation, released: edge.released };
    return (await grantLeases(tx, [request], { heldOf: () => held, now }))[0]?.lease;
  });

const newEdge = (id: string): Edge => ({ id, generation: 0, granted: 0n, spent: 0n, released: 0n });

/** What an edge may still spend. */
const left = ({ granted, spent, released }: Edge) => granted - spent - released;

test("three edges together never hold more than there is, however they ask, spend, give back and repeat themselves", async () => {
  const step = fc.record({
    edge: fc.nat(2),
    type: fc.constantFrom("ask", "spend", "return", "repeat"),
    amount: fc.bigInt(1n, 400n),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), (steps) =>
      withBalance(START, async (store) => {
        const edges = ["a", "b", "c"].map(newEdge);
        for (const each of steps) {
          const edge = edges[each.edge];
          if (edge) await play(store, edge, each);
          const spent = edges.reduce((sum, { spent: cost }) => sum + cost, 0n);
          const held = edges.reduce((sum, one) => sum + left(one), 0n);
          expect(spent + held).toBeLessThanOrEqual(START);
          // What the store believes to be held is what the edges hold.
          expect(await leasedOf(store, ORGANIZATION, 0)).toBe(held);
        }
      }),
    ),
    { numRuns: 12 },
  );
});

async function play(store: Store, edge: Edge, { type, amount }: { type: string; amount: bigint }): Promise<void> {
  if (type === "ask") {
    const lease = await ask(store, edge, amount, { want: amount * 2n });
    if (lease) Object.assign(edge, { generation: lease.generation, granted: lease.granted });
    return;
  }
  const free = left(edge);
  if (type === "spend") {
    const cost = amount < free ? amount : free;
    edge.spent += cost;
    await settleFor(store, edge, cost);
  } else if (type === "return") {
    edge.released += amount < free ? amount : free;
    await settleFor(store, edge, 0n);
  } else {
    await settleFor(store, edge, 0n);
  }
}

async function settleFor(store: Store, edge: Edge, cost: bigint): Promise<void> {
  await store.transaction("every", async (tx) => {
    const account = await tx.get("accounts", organizationAccount(ORGANIZATION));
    if (account) await tx.put("accounts", { ...account, balance: account.balance - cost });
    const { id: edgeId, generation, released } = edge;
    await settleLease(tx, { edgeId, organizationId: ORGANIZATION, generation, released, settled: cost }, 0);
  });
}

test("asked ahead, an edge gets a share that shrinks with what is left; what a call needs it gets as far as there is", () =>
  withBalance(START, async (store) => {
    const [a, b] = [newEdge("a"), newEdge("b")];
    expect((await ask(store, a, 10n, { want: 900n }))?.granted).toBe(62n);
    expect((await ask(store, b, 10n, { want: 900n }))?.granted).toBe(58n);
    expect((await ask(store, b, 900n))?.granted).toBe(58n + 880n);
    expect(await ask(store, newEdge("c"), 1n)).toBeUndefined();
  }));

test("what an edge has in advance stays a share however often it asks; what running calls hold is not counted", () =>
  withBalance(START, async (store) => {
    const edge = newEdge("a");
    expect((await ask(store, edge, 0n, { want: 900n }))?.granted).toBe(62n);
    expect((await ask(store, edge, 0n, { want: 838n, free: 62n }))?.granted).toBe(62n);
    expect((await ask(store, edge, 0n, { want: 838n, free: 0n }))?.granted).toBe(62n + 58n);
  }));

test("the leases of an edge that is dead and settled end at once, and only those; a repeated report changes nothing", () =>
  withBalance(START, async (store) => {
    await ask(store, newEdge("dead"), 800n);
    await ask(store, newEdge("alive"), 100n);
    for (const now of [5, 6]) {
      const dead = await leasesOfEdges(store, ["dead"]);
      await store.transaction("every", (tx) => endLeases(tx, dead, now));
      expect(await leasedOf(store, ORGANIZATION, now)).toBe(100n);
    }
  }));

test("credit that calls have set aside one by one is not leased", () =>
  withBalance(START, async (store) => {
    expect((await ask(store, newEdge("a"), 1000n, { held: 400n }))?.granted).toBe(600n);
  }));

test("a dead edge's lease comes back once; a settlement that comes after it changes no other lease", () =>
  withBalance(START, async (store) => {
    const edge = newEdge("a");
    const first = await ask(store, edge, 800n);
    expect(await leasedOf(store, ORGANIZATION, 59_999)).toBe(800n);
    expect(await leasedOf(store, ORGANIZATION, 60_000)).toBe(0n);
    const second = await ask(store, edge, 500n, { now: 60_000 });
    expect(second).toMatchObject({ granted: 500n, settled: 0n });
    expect(second?.generation).not.toBe(first?.generation);
    const late = { edgeId: "a", organizationId: ORGANIZATION, generation: first?.generation ?? 0, released: 300n, settled: 500n };
    await store.transaction("every", (tx) => settleLease(tx, late, 60_001));
    expect(await leasedOf(store, ORGANIZATION, 60_001)).toBe(500n);
  }));
