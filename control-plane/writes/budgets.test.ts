import type { Budget } from "../domain/budget-records.ts";
import type { UsageRow } from "../domain/records.ts";
import { reportedCall } from "../proof/ledger-fixture.ts";
import { openTestStore } from "../stores/test-store.ts";
import { type BudgetSubject, followBudget } from "./budgets.ts";
import { settleCalls } from "./settle.ts";

const DAY_MS = 24 * 3_600_000;
const now = 10 * DAY_MS + 5000;
const { store, close } = openTestStore();
afterAll(close);

let calls = 0;
const settle = (cost: bigint, change: Partial<UsageRow> = {}) => {
  const row = reportedCall(`call_${calls++}`, cost, { createdAt: now, completedAt: now, userId: 7, ...change });
  return store.transaction("every", (tx) => settleCalls(tx, [row, row], now));
};
const set = (subject: BudgetSubject, before: Budget, after: Budget) =>
  store.transaction("every", (tx) => followBudget(tx, subject, { before, after }, now));
const useOf = async (name: string) => store.get("budgetUses", name);
const team: BudgetSubject = { kind: "team", id: "team_1", organizationIds: ["org_1"] };

test("without a budget a settlement counts nothing; a new daily budget begins with what the day has cost already", async () => {
  await settle(30n, { createdAt: now - DAY_MS });
  await settle(5n);
  await settle(4n, { teamId: "team_2" });
  expect(await useOf("team:team_1")).toBeUndefined();
  const daily: Budget = { maxBudget: 100n, budgetPeriod: "daily" };
  await set(team, {}, daily);
  expect(await useOf("team:team_1")).toEqual({
    ...{ id: "team:team_1", organizationId: "org_1", period: "daily", startsAt: 10 * DAY_MS, spend: 5n },
  });
  await settle(7n);
  expect((await useOf("team:team_1"))?.spend).toBe(12n);
  // Another amount is the same budget; the count goes on.
  await set(team, daily, { ...daily, maxBudget: 50n });
  expect((await useOf("team:team_1"))?.spend).toBe(12n);
});

test("the first call of the next day begins it, and one of yesterday that comes late does not count", async () => {
  await settle(3n, { createdAt: now + DAY_MS });
  expect(await useOf("team:team_1")).toMatchObject({ startsAt: 11 * DAY_MS, spend: 3n });
  await settle(50n);
  expect((await useOf("team:team_1"))?.spend).toBe(3n);
});

test("every subject of a call with a budget counts it, once, and a budget that was taken away counts no more", async () => {
  const subjects: BudgetSubject[] = [
    { kind: "user", id: 7, organizationIds: ["org_1"] },
    { kind: "organization", id: "org_1", organizationIds: ["org_1"] },
  ];
  const names = ["user:7", "organization:org_1"];
  // Without a period it counts from when it was set.
  for (const subject of subjects) await set(subject, {}, { maxBudget: 100n });
  await settle(9n);
  for (const name of names) expect((await useOf(name))?.spend).toBe(9n);
  for (const subject of subjects) await set(subject, { maxBudget: 100n }, {});
  await settle(9n);
  for (const name of names) expect(await useOf(name)).toBeUndefined();
});

test("a key's budget is counted while it has a period; without one it is held against all that the key spent", async () => {
  const key: BudgetSubject = { kind: "key", id: "key_2", organizationIds: ["org_1"] };
  await settle(6n, { apiKeyId: "key_2" });
  await set(key, {}, { maxBudget: 100n });
  expect(await useOf("key:key_2")).toBeUndefined();
  await set(key, { maxBudget: 100n }, { maxBudget: 100n, budgetPeriod: "monthly" });
  await settle(2n, { apiKeyId: "key_2" });
  expect((await useOf("key:key_2"))?.spend).toBe(8n);
  await set(key, { maxBudget: 100n, budgetPeriod: "monthly" }, { maxBudget: 100n });
  expect(await useOf("key:key_2")).toBeUndefined();
});

test("a model's budget counts what its calls cost, under whatever name they were asked for, from when it is set", async () => {
  const model: BudgetSubject = { kind: "model", id: "model_7", organizationIds: [] };
  await settle(5n, { deploymentId: "model_7" });
  await set(model, {}, { maxBudget: 100n, budgetPeriod: "daily" });
  expect(await useOf("model:model_7")).toMatchObject({ spend: 0n, period: "daily" });
  await settle(7n, { deploymentId: "model_7", model: "an-alias" });
  await settle(9n, { deploymentId: "model_8", model: "an-alias", organizationId: "org_2" });
  expect(await useOf("model:model_7")).toMatchObject({ spend: 7n });
});
