import { organizationAccount } from "../domain/ledger.ts";
import { collect } from "../stores/page.ts";
import { openTestStore } from "../stores/test-store.ts";
import { post } from "./ledger.ts";
import { withThreshold } from "./low-balance.ts";

const { store, close } = openTestStore();
afterAll(close);

let entries = 0;
const account = organizationAccount("org_1");
/** Moves credits in (above zero) or out, and returns the notifications. */
async function move(amount: bigint): Promise<string[]> {
  const before = new Set((await collect(store.scan("notices"))).map(({ id }) => id));
  const [from, to] = amount > 0n ? ["grants", account] : [account, "grants"];
  const transfer = { type: "grant", organizationId: "org_1", from, to, amount: amount > 0n ? amount : -amount } as const;
  await store.transaction("every", (tx) => post(tx, { ...transfer, reference: `grant_${entries++}` }, 1000));
  const notices = await collect(store.scan("notices"));
  return notices.filter(({ id }) => !before.has(id)).map(({ type }) => type);
}

beforeAll(() =>
  store.transaction("every", async (tx) => {
    const organization = { id: "org_1", name: "o", ownerId: 1, timezone: "UTC", createdAt: 1, updatedAt: 1, lowBalanceThreshold: 100n };
    await tx.insert("organizations", organization);
    await tx.insert("teams", { id: "team_1", name: "t", nameKey: "t", organizationId: "org_1", createdAt: 1, updatedAt: 1 });
  }),
);

test("a balance that falls below its threshold is notified once, and again only after credits lifted it above", async () => {
  expect(await move(150n)).toEqual([]);
  expect(await move(-50n)).toEqual([]);
  expect(await move(-1n)).toEqual(["balance.low"]);
  expect(await move(-9n)).toEqual([]);
  // Credits that do not lift it above do not make it fall again.
  expect(await move(5n)).toEqual([]);
  expect(await move(-20n)).toEqual([]);
  expect(await move(100n)).toEqual([]);
  expect(await move(-100n)).toEqual(["balance.low"]);
});

test("a block below zero is notified, and so is its end", async () => {
  await move(200n);
  expect(await move(-500n)).toEqual(["balance.low", "balance.blocked"]);
  expect(await move(-1n)).toEqual([]);
  expect(await move(1_000n)).toEqual(["balance.unblocked"]);
});

test("a notification has the exact balance and threshold", async () => {
  const notice = (await collect(store.scan("notices"))).find(({ type }) => type === "balance.low");
  expect(JSON.parse(notice?.data ?? "")).toEqual({
    organizationId: "org_1",
    balance: 99,
    balanceUsd: "0.000000099",
    threshold: 100,
    thresholdUsd: "0.0000001",
  });
});

test("a threshold above the balance waits until credits come in", async () => {
  const stored = await store.get("accounts", account);
  if (!stored) throw new Error("no account");
  expect(withThreshold(stored, stored.balance + 1n).lowAt).toBeUndefined();
  expect(withThreshold(stored, stored.balance).lowAt).toBe(stored.balance);
  expect(withThreshold({ ...stored, lowAt: 1n }, undefined).lowAt).toBeUndefined();
});
