import { adminToken, call, chat, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { type Ask, expectError, within } from "./support.ts";

/** Where the machine is busy, 400 calls at once are an overload, and that is not what is tested here. */
const NEVER_OVERLOADED = { OVERLOAD_TURN_MS: "0" };

let system: System;
let shadow: System;
let admin: string;
let ask: Ask;
beforeAll(async () => {
  [system, shadow] = await Promise.all([startSystem({ edges: 2, env: NEVER_OVERLOADED }), startSystem({ env: { BUDGET_MODE: "shadow" } })]);
  admin = await adminToken(system);
  ask = (method, path, options) => call(system.url, method, path, options);
});
afterAll(async () => {
  await Promise.all([system.stop(), shadow.stop()]);
});

const BUDGET = { maxBudget: 1000, budgetPeriod: "daily" };
/** Each subject of a call that can have a budget: who sets it, where, and under which name it refuses. */
const SUBJECTS: readonly [string, (tenant: Tenant, body: object) => Promise<{ status: number; text: string }>][] = [
  ["key", (tenant, body) => ask("POST", "/api/api-keys/update", { token: tenant.token, body: { apiKey: tenant.keyId, ...body } })],
  ["team", (tenant, body) => ask("PATCH", `/api/gw/teams/${tenant.teamId}`, { token: tenant.token, body })],
  ["organization", (tenant, body) => ask("PUT", "/api/gw/organizations", { token: tenant.token, body })],
  ["organization", (tenant, body) => ask("PATCH", `/api/admin/organizations/${tenant.organizationId}`, { token: admin, body })],
  ["user", (tenant, body) => ask("PATCH", `/api/admin/users/${tenant.userId}`, { token: admin, body })],
];

const spendUntilRefused = async (tenant: Tenant) => {
  let spent = 0;
  for (let count = 0; count < 50; count++) {
    const answer = await chat(system, tenant.key, "one two three four five six seven eight nine ten", { max_tokens: 20 });
    if (answer.status !== 200) return { spent, answer };
    spent += Number(answer.headers.get("x-gw-cost-nano"));
  }
  throw new Error(`no call was refused after ${spent} nano-USD`);
};

describe.each(SUBJECTS)("of a %s", (kind, set) => {
  test("calls are refused once it is used up, with whose it is; the money itself is there", async () => {
    const tenant = await newTenant(system, { creditNano: 1_000_000_000 });
    // A call before: the edges know the key as one without a budget.
    expect((await chat(system, tenant.key, "before")).status).toBe(200);
    const before = 1_000_000_000 - (await ask("GET", "/api/balance", { token: tenant.token })).body.balance;
    const answer = await set(tenant, { ...BUDGET, maxBudget: before + 50_000 });
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    const record = Object.values(JSON.parse(answer.text))[0];
    expect(record).toMatchObject({ maxBudget: before + 50_000, budgetPeriod: "daily", budgetSpend: before });
    await within(
      2000,
      () => chat(system, tenant.key, "x ".repeat(40), { max_tokens: 20 }),
      ({ status }) => status === 200,
    );
    const { answer: refusal } = await spendUntilRefused(tenant);
    expect(refusal.status).toBe(429);
    expect(refusal.body.error).toMatchObject({ type: "insufficient_quota", code: "QUOTA_EXCEEDED" });
    expect(refusal.body.error.message).toContain(`The ${kind}'s daily budget is used up`);
    expect(refusal.headers.get("x-should-retry")).toBe("false");
    const { balance } = (await ask("GET", "/api/balance", { token: tenant.token })).body;
    expect(balance).toBeGreaterThan(999_000_000 - before);

    // Raised, it goes on; taken away, there is none.
    await set(tenant, { maxBudget: 900_000_000 });
    await within(
      2000,
      () => chat(system, tenant.key, "more"),
      ({ status }) => status === 200,
    );
    const gone = await set(tenant, { maxBudget: null });
    expect(Object.values(JSON.parse(gone.text))[0]).toMatchObject({ maxBudget: null, budgetPeriod: null, budgetSpend: null });
  });
});

test("a model's budget covers all of its callers together; the public catalog does not show it", async () => {
  const [tenant, other] = [await newTenant(system, { creditNano: 1_000_000_000 }), await newTenant(system, { creditNano: 1_000_000_000 })];
  const pricing = { input: 1_000_000_000, output: 2_000_000_000 };
  const made = await ask("POST", "/api/admin/models", {
    token: admin,
    body: { name: "bounded", provider: "echo", inferenceModelId: "echo-1", pricing, maxBudget: 100_000, budgetPeriod: "monthly" },
  });
  expect(made.body.model).toMatchObject({ maxBudget: 100_000, budgetPeriod: "monthly", budgetSpend: 0 });
  const say = (key: string) => chat(system, key, "one two three four five six seven eight nine ten", { model: "bounded", max_tokens: 20 });
  await within(
    2000,
    () => say(tenant.key),
    ({ status }) => status === 200,
  );
  let refusal = await say(other.key);
  for (let count = 0; count < 20 && refusal.status === 200; count++) refusal = await say(count % 2 === 0 ? tenant.key : other.key);
  expect([refusal.status, refusal.body.error.message]).toEqual([429, expect.stringContaining("The model's monthly budget is used up")]);
  const listed = await ask("GET", "/api/models?search=bounded", {});
  expect(listed.text).not.toContain("Budget");
  // Other models are still there; taken away, so is this one.
  expect((await chat(system, tenant.key, "hello")).status).toBe(200);
  const gone = await ask("PATCH", `/api/admin/models/${made.body.model.id}`, { token: admin, body: { maxBudget: null } });
  expect(gone.body.model).toMatchObject({ maxBudget: null, budgetSpend: null });
  await within(
    2000,
    () => say(tenant.key),
    ({ status }) => status === 200,
  );
});

test("400 parallel calls do not spend more of a budget than there is, by more than one call an edge", async () => {
  const tenant = await newTenant(system, { creditNano: 10_000_000_000 });
  await ask("PATCH", `/api/gw/teams/${tenant.teamId}`, { token: tenant.token, body: { maxBudget: 1_000_000, budgetPeriod: "monthly" } });
  const body = { max_tokens: 30 };
  const answers = await Promise.all(Array.from({ length: 400 }, () => chat(system, tenant.key, "one two three four", body)));
  const costs = answers.flatMap(({ status, headers }) => (status === 200 ? [Number(headers.get("x-gw-cost-nano"))] : []));
  expect(answers.filter(({ status }) => status !== 200 && status !== 429).map(({ status, text }) => `${status} ${text}`)).toEqual([]);
  const spent = costs.reduce((sum, cost) => sum + cost, 0);
  expect(spent).toBeLessThanOrEqual(1_000_000 + Math.max(0, ...costs));
});

test("in shadow mode no call is refused, and the log says which would have been", async () => {
  const tenant = await newTenant(shadow, { creditNano: 1_000_000_000 });
  const set = await call(shadow.url, "PATCH", `/api/gw/teams/${tenant.teamId}`, { token: tenant.token, body: { maxBudget: 0 } });
  expect(set.body.team.maxBudget).toBe(0);
  expect((await chat(shadow, tenant.key, "over it")).status).toBe(200);
  expect(shadow.logs()).toContain("BUDGET_MODE is shadow");
});

test("a period needs a budget, an amount is whole and above, and a team's budget is not its own admin's to change", async () => {
  const tenant = await newTenant(system);
  const patch = (body: object, token = tenant.token) => ask("PATCH", `/api/gw/teams/${tenant.teamId}`, { token, body });
  expectError(await patch({ budgetPeriod: "daily" }), 400, "VALIDATION_ERROR", "budgetPeriod");
  expectError(await patch({ maxBudget: -1 }), 400, "VALIDATION_ERROR", "maxBudget");
  expectError(await patch({ maxBudget: 1, budgetPeriod: "hourly" }), 400, "VALIDATION_ERROR", "budgetPeriod");
  // As a decimal too, as records have it: without this, such a budget was none.
  expect((await patch({ maxBudgetUsd: "0.25" })).body.team).toMatchObject({ maxBudget: 250_000_000, maxBudgetUsd: "0.25" });
  expect((await patch({ maxBudgetUsd: 1e-7, maxBudget: 100 })).body.team).toMatchObject({ maxBudget: 100, maxBudgetUsd: "0.0000001" });
  expectError(await patch({ maxBudgetUsd: "2", maxBudget: 1 }), 400, "VALIDATION_ERROR", "maxBudgetUsd");
  for (const maxBudgetUsd of ["-1", "1e3", "0.0000000001", "9999999999", true]) {
    expectError(await patch({ maxBudgetUsd }), 400, "VALIDATION_ERROR", "maxBudgetUsd");
  }
  expect((await patch({ maxBudgetUsd: null })).body.team).toMatchObject({ maxBudget: null, maxBudgetUsd: null });
  const limits = { models: ["echo"], rpm: 7, tpm: 8, maxParallelRequests: 9, budgetPeriod: "weekly" };
  const teamBody = { name: "Limited", ...limits, maxBudgetUsd: "0.000001" };
  const { body: limited } = await ask("POST", "/api/gw/teams", { token: tenant.token, body: teamBody });
  expect(limited.team).toMatchObject({ ...limits, maxBudget: 1000, budgetSpend: 0 });
  const keyBody = { name: "decimal", team_id: tenant.teamId, maxBudgetUsd: "0.000001" };
  const { body: created } = await ask("POST", "/api/gw/api-keys", { token: tenant.token, body: keyBody });
  expect(created.apiKey).toMatchObject({ maxBudget: 1000, maxBudgetUsd: "0.000001" });
  const removal = { apiKey: created.apiKey.id, maxBudgetUsd: null };
  const { body: updated } = await ask("POST", "/api/api-keys/update", { token: tenant.token, body: removal });
  expect(updated.apiKey.maxBudget).toBeNull();
  const member = await newTenant(system);
  await joinTeam(system, { from: tenant, guest: member, teamId: tenant.teamId, role: "admin" });
  expectError(await patch({ maxBudget: 1 }, member.token), 403, "FORBIDDEN");
  expect((await patch({ rpm: 1000 }, member.token)).status).toBe(200);
});
