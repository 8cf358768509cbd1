import { adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError, expectGatewayError, within } from "./support.ts";

let system: System;
let admin: string;
let ask: Ask;

beforeAll(async () => {
  system = await startSystem();
  admin = await adminToken(system);
  ask = (method, path, options) => call(system.url, method, path, { token: admin, ...options });
});
afterAll(() => system.stop());

const organizationOf = async ({ token }: Tenant) => (await call(system.url, "GET", "/api/auth/me", { token })).body.organization;
const tenantWithCredit = () => newTenant(system, { creditNano: 1_000_000_000 });

const SHAPES = { organization: records.organization, user: records.user, team: records.team, model: records.model };

/** Sets one request per minute on a path, and shows that it is answered so. */
async function limit(path: string, record: keyof typeof SHAPES, options: object = {}): Promise<void> {
  const set = await ask("PATCH", path, { body: { rpm: 1, tpm: 100_000, maxParallelRequests: 5 }, ...options });
  expect([set.status, set.text]).toEqual([200, expect.any(String)]);
  records.expectShape(SHAPES[record], set.body[record]);
  expect(set.body[record]).toMatchObject({ rpm: 1, tpm: 100_000, maxParallelRequests: 5 });
  const less = await ask("PATCH", path, { body: { tpm: null }, ...options });
  expect(less.body[record]).toMatchObject({ rpm: 1, tpm: null, maxParallelRequests: 5 });
}

/** The first call passes, another is refused within a second, in the name of whose limit it is. */
async function expectLimited(key: string, owner: string, model = "echo"): Promise<void> {
  const over = await within(
    1500,
    () => chat(system, key, "hi", { model }),
    ({ status }) => status === 429,
  );
  expectGatewayError(over, 429, "rate_limit_error", "rate_limit_exceeded");
  expect(over.body.error.message).toContain(`The ${owner}'s limit of 1 requests per minute is reached.`);
  expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(over.headers.get("x-ratelimit-limit-requests")).toBe("1");
  expect(over.headers.get("x-ratelimit-remaining-requests")).toBe("0");
}

test("an organization's limits are an admin's to set, and hold for all its keys", async () => {
  const tenant = await tenantWithCredit();
  const { id } = await organizationOf(tenant);
  const path = `/api/admin/organizations/${id}`;
  expectError(await ask("PATCH", path, { body: { rpm: 1 }, token: tenant.token }), 403, "FORBIDDEN");
  expectError(await ask("PATCH", "/api/admin/organizations/org_0", { body: { rpm: 1 } }), 404, "NOT_FOUND");
  expectError(await ask("PATCH", path, { body: { rpm: 0 } }), 400, "VALIDATION_ERROR", "rpm");
  await limit(path, "organization");
  await expectLimited(tenant.key, "organization");
  expect(await organizationOf(tenant)).toMatchObject({ rpm: 1, tpm: null, maxParallelRequests: 5 });
});

test("a user's limits hold for all keys the user made", async () => {
  const tenant = await tenantWithCredit();
  await limit(`/api/admin/users/${tenant.userId}`, "user");
  await expectLimited(tenant.key, "user");
});

test("a team's limits include parallel calls", async () => {
  const tenant = await tenantWithCredit();
  await limit(`/api/gw/teams/${tenant.teamId}`, "team", { token: tenant.token });
  await expectLimited(tenant.key, "team");
});

test("a model's limits hold over all who ask for it, and for no other model", async () => {
  const [one, two] = [await tenantWithCredit(), await tenantWithCredit()];
  const body = { name: "scarce", provider: "echo", inferenceModelId: "echo", rpm: 9 };
  const made = await ask("POST", "/api/admin/models", { body });
  expect(made.body.model).toMatchObject({ rpm: 9, tpm: null, maxParallelRequests: null });
  await limit(`/api/admin/models/${made.body.model.id}`, "model");
  await within(
    1000,
    () => chat(system, one.key, "hi", { model: "scarce" }),
    ({ status }) => status === 200 || status === 429,
  );
  await expectLimited(two.key, "model", "scarce");
  expect((await chat(system, two.key, "hi")).status).toBe(200);
});

test("a refusal through the platform's own endpoint has the same headers and no details", async () => {
  const tenant = await tenantWithCredit();
  await limit(`/api/admin/users/${tenant.userId}`, "user");
  await expectLimited(tenant.key, "user");
  const body = { apiKey: tenant.key, model: "echo", messages: [{ role: "user", content: "hi" }] };
  const over = await call(system.url, "POST", "/api/gw/messages", { token: tenant.token, body });
  expectError(over, 429, "QUOTA_EXCEEDED");
  expect(over.body.details).toBeUndefined();
  expect(over.headers.get("x-ratelimit-limit-requests")).toBe("1");
});

test("prices for long inputs are answered as they were set, and must rise", async () => {
  const pricing = { input: 10, output: 20, tiers: [{ aboveInputTokens: 3, input: 30, output: 40, cachedInput: 5 }] };
  const base = { provider: "echo", inferenceModelId: "echo" };
  const made = await ask("POST", "/api/admin/models", { body: { ...base, name: "tiered", pricing } });
  expect(made.body.model.pricing.tiers).toEqual([
    {
      aboveInputTokens: 3,
      input: 30,
      inputUsd: expect.any(String),
      output: 40,
      outputUsd: expect.any(String),
      cachedInput: 5,
      cacheWrite: null,
      cacheWriteHour: null,
    },
  ]);
  const falling = { ...pricing, tiers: [...pricing.tiers, ...pricing.tiers] };
  expectError(
    await ask("POST", "/api/admin/models", { body: { ...base, name: "falling", pricing: falling } }),
    400,
    "VALIDATION_ERROR",
    "tiers",
  );
});

test("a long input is billed at its tier, whole", async () => {
  const tenant = await tenantWithCredit();
  const [low, high] = [1_000_000_000, 1_000_000_000_000];
  const pricing = { input: low, output: low, tiers: [{ aboveInputTokens: 20, input: high, output: high }] };
  await ask("POST", "/api/admin/models", { body: { name: "steep", provider: "echo", inferenceModelId: "echo", pricing } });
  const cost = async (text: string) => {
    const answer = await within(
      1500,
      () => chat(system, tenant.key, text, { model: "steep" }),
      ({ status }) => status === 200,
    );
    const { prompt_tokens, completion_tokens } = answer.body.usage;
    return { nano: Number(answer.headers.get("x-gw-cost-nano")), prompt: prompt_tokens, total: prompt_tokens + completion_tokens };
  };
  const short = await cost("one");
  expect([short.prompt <= 20, short.nano]).toEqual([true, short.total * 1000]);
  const long = await cost("word ".repeat(40));
  expect([long.prompt > 20, long.nano]).toEqual([true, long.total * 1_000_000]);
});
