import { adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError, expectGatewayError, operations, within } from "./support.ts";

const PROVIDER_SECRET = "canary-provider-credential-5c1e";
const PROVIDER_ADDRESS = "https://canary-provider.example/v9";

let system: System;
let tenant: Tenant;
let admin: string;
let ask: Ask;

beforeAll(async () => {
  system = await startSystem();
  [tenant, admin] = [await newTenant(system, { creditNano: 1_000_000_000 }), await adminToken(system)];
  ask = (method, path, options) => call(system.url, method, path, { token: admin, ...options });
});
afterAll(() => system.stop());

describe("users", () => {
  test("are listed by page, searched, shown, changed and deleted", async () => {
    const person = await newTenant(system, { name: "listed" });
    const list = await ask("GET", "/api/admin/users");
    records.expectShape(records.listOf(records.user), list.body);
    expect(list.text).not.toMatch(/password|hash|\$argon|scrypt/i);
    const found = await ask("GET", `/api/admin/users?search=${encodeURIComponent(person.email.toUpperCase())}`);
    expect(found.body.data.map(({ id }: { id: number }) => id)).toEqual([person.userId]);
    const shown = await ask("GET", `/api/admin/users/${person.userId}`);
    records.expectShape(records.user, shown.body.user);
    const changed = await ask("PATCH", `/api/admin/users/${person.userId}`, { body: { name: "Other" } });
    expect(changed.body.user).toEqual({ ...shown.body.user, name: "Other" });
    expectError(await ask("PATCH", `/api/admin/users/${person.userId}`, { body: { role: "god" } }), 400, "VALIDATION_ERROR", "role");
    expectError(await ask("PATCH", `/api/admin/users/${person.userId}`, { body: {} }), 400, "VALIDATION_ERROR");
    expect((await ask("DELETE", `/api/admin/users/${person.userId}`)).status).toBe(200);
    expectError(await ask("DELETE", `/api/admin/users/${person.userId}`), 404, "NOT_FOUND");
    expectError(await ask("GET", `/api/admin/users/${person.userId}`), 404, "NOT_FOUND");
    await within(
      1000,
      () => chat(system, person.key, "gone"),
      ({ status }) => status === 401,
    );
  });

  test("one that is not there is 404, one that cannot be is 400", async () => {
    expectError(await ask("GET", "/api/admin/users/987654321"), 404, "NOT_FOUND");
    expectError(await ask("GET", "/api/admin/users/999999999999999999"), 404, "NOT_FOUND");
    for (const id of ["x", "-1", "1.5", "%00", "9".repeat(40)])
      expectError(await ask("GET", `/api/admin/users/${id}`), 400, "VALIDATION_ERROR", "id");
  });

  test("the last admin cannot be demoted or deleted", async () => {
    const { user } = (await ask("GET", "/api/auth/me")).body;
    expectError(await ask("PATCH", `/api/admin/users/${user.id}`, { body: { role: "user" } }), 400, "VALIDATION_ERROR");
    expectError(await ask("DELETE", `/api/admin/users/${user.id}`), 400, "VALIDATION_ERROR");
  });
});

describe("credits and blocks", () => {
  test("a credit to an unknown organization is 404, a credit of zero 400, and only an admin gives it", async () => {
    expectError(await ask("POST", "/api/admin/organizations/org_nothing/credits", { body: { amount: 5 } }), 404, "NOT_FOUND");
    const path = `/api/admin/organizations/${tenant.organizationId}/credits`;
    expectError(await ask("POST", path, { body: { amount: 0 } }), 400, "VALIDATION_ERROR", "amount");
    expectError(await ask("POST", path, { body: { amount: 1.5 } }), 400, "VALIDATION_ERROR", "amount");
    expectError(await ask("POST", path, { body: { amount: 5 }, token: tenant.token }), 403, "FORBIDDEN");
    const answer = await ask("POST", path, { body: { amountUsd: "0.01", reference: "thanks" } });
    expect([answer.status, answer.body.entry.amount, answer.body.entry.reference]).toEqual([201, 10_000_000, "thanks"]);
  });

  test("a blocked team is TEAM_BLOCKED at the edge within a second, whatever is bought, until it is unblocked", async () => {
    const owner = await newTenant(system, { creditNano: 100_000_000 });
    expect((await chat(system, owner.key, "before")).status).toBe(200);
    const blocked = await ask("POST", `/api/admin/teams/${owner.teamId}/block`, { body: { reason: "abuse" } });
    records.expectShape(records.team, blocked.body.team);
    expect(blocked.body.team).toMatchObject({ status: "blocked", blockedReason: "admin", blockedAt: expect.any(String) });
    const refused = await within(
      1000,
      () => chat(system, owner.key, "x"),
      ({ status }) => status === 403,
    );
    expectGatewayError(refused, 403, "permission_denied_error", "TEAM_BLOCKED");
    await call(system.url, "POST", "/api/credits/purchase", { token: owner.token, body: { amount: 100_000_000 } });
    const still = await chat(system, owner.key, "still");
    expect([still.status, still.body.error.message]).toEqual([403, expect.stringContaining("by an administrator. Ask one")]);
    const open = await ask("POST", `/api/admin/teams/${owner.teamId}/unblock`, { body: {} });
    expect(open.body.team).toMatchObject({ status: "active", blockedReason: null, blockedAt: null });
    await within(
      1000,
      () => chat(system, owner.key, "x"),
      ({ status }) => status === 200,
    );
    expectError(await ask("POST", "/api/admin/teams/team_nothing/block", { body: {} }), 404, "NOT_FOUND");
  });

  test("organizations are listed with balance and block, searched by name and id, and shown only to admins", async () => {
    const owner = await newTenant(system, { name: "findable", creditNano: 7_000_000 });
    const list = await ask("GET", "/api/admin/organizations");
    records.expectShape(records.listOf(records.organization), list.body);
    const found = await ask("GET", `/api/admin/organizations?search=${owner.organizationId}`);
    expect(found.body.data).toMatchObject([
      { id: owner.organizationId, balance: 7_000_000, balanceUsd: "0.007", status: "active", blockedReason: null, memberCount: 1 },
    ]);
    const { name } = found.body.data[0];
    const named = await ask("GET", `/api/admin/organizations?search=${encodeURIComponent(name.toUpperCase())}`);
    expect(named.body.data.map(({ id }: { id: string }) => id)).toContain(owner.organizationId);
    expectError(await ask("GET", "/api/admin/organizations", { token: owner.token }), 403, "FORBIDDEN");
  });

  test("a blocked organization has every team blocked, new ones too, until it is unblocked; a team's own block stays", async () => {
    const owner = await newTenant(system, { creditNano: 100_000_000 });
    const path = `/api/admin/organizations/${owner.organizationId}`;
    const newTeam = async (name: string) =>
      (await call(system.url, "POST", "/api/gw/teams", { token: owner.token, body: { name } })).body.team;
    const alone = await newTeam("blocked by itself");
    await ask("POST", `/api/admin/teams/${alone.id}/block`, { body: {} });
    const blocked = await ask("POST", `${path}/block`, { body: { reason: "unpaid invoice" } });
    records.expectShape(records.organization, blocked.body.organization);
    expect(blocked.body.organization).toMatchObject({ status: "blocked", blockedReason: "admin", blockNote: "unpaid invoice" });
    expect(await newTeam("too late")).toMatchObject({ status: "blocked", blockedReason: "admin" });
    const refused = await within(
      1000,
      () => chat(system, owner.key, "x"),
      ({ status }) => status === 403,
    );
    expectGatewayError(refused, 403, "permission_denied_error", "TEAM_BLOCKED");
    await call(system.url, "POST", "/api/credits/purchase", { token: owner.token, body: { amount: 100_000_000 } });
    expect((await chat(system, owner.key, "still")).status).toBe(403);
    const open = await ask("POST", `${path}/unblock`, { body: {} });
    expect(open.body.organization).toMatchObject({ status: "active", blockedReason: null, blockedAt: null, blockNote: null });
    await within(
      1000,
      () => chat(system, owner.key, "x"),
      ({ status }) => status === 200,
    );
    const { data } = (await call(system.url, "GET", "/api/gw/teams", { token: owner.token })).body;
    expect(data.filter(({ status }: { status: string }) => status === "blocked").map(({ id }: { id: string }) => id)).toEqual([alone.id]);
    const { data: lines } = (await ask("GET", `/api/admin/audit?organizationId=${owner.organizationId}&action=organization.block`)).body;
    expect(lines).toMatchObject([{ target: owner.organizationId, details: { reason: "unpaid invoice" } }]);
    expectError(await ask("POST", "/api/admin/organizations/org_nothing/block", { body: {} }), 404, "NOT_FOUND");
    expectError(await ask("POST", `${path}/block`, { body: {}, token: owner.token }), 403, "FORBIDDEN");
  });
});

describe("catalog", () => {
  const create = (body: object) =>
    ask("POST", "/api/admin/models", { body: { provider: "echo", inferenceModelId: "echo", type: "chat", ...body } });
  const say = (model: string) => chat(system, tenant.key, "one two three", { model });
  const costOf = async (model: string) => Number((await say(model)).headers.get("x-gw-cost-nano"));

  test("a new model is callable within a second; a new price is a new version; disabled and deleted it is 404", async () => {
    const made = await create({
      name: "fresh/model-1",
      pricing: { input: 1_000_000, output: 1_000_000 },
      contextWindow: 4096,
      description: "d",
    });
    expect(made.status).toBe(201);
    records.expectShape(records.model, made.body.model);
    const { model } = made.body;
    expect(model).toMatchObject({
      name: "fresh/model-1",
      type: "chat",
      contextWindow: 4096,
      maxOutputTokens: null,
      trained: null,
      description: "d",
    });
    expect(model.pricing).toMatchObject({ version: 1, input: 1_000_000, output: 1_000_000, cachedInput: null, cacheWrite: null });
    await within(
      1000,
      () => say("fresh/model-1"),
      ({ status }) => status === 200,
    );
    expect(await costOf("fresh/model-1")).toBe(6);

    const priced = await ask("PATCH", `/api/admin/models/${model.id}`, { body: { pricing: { input: 2_000_000, output: 5_000_000 } } });
    expect(priced.body.model.pricing).toMatchObject({ version: 2, input: 2_000_000, output: 5_000_000 });
    await within(
      1000,
      () => say("fresh/model-1"),
      ({ headers }) => headers.get("x-gw-cost-nano") === "21",
    );
    const [log] = (await call(system.url, "GET", "/api/gw/logs?model=fresh/model-1", { token: tenant.token })).body.data;
    expect(log).toMatchObject({ priceVersion: 2, cost: 21 });

    await ask("PUT", `/api/admin/models/${model.id}`, { body: { status: "disabled" } });
    const gone = await within(
      1000,
      () => say("fresh/model-1"),
      ({ status }) => status !== 200,
    );
    expectGatewayError(gone, 404, "not_found_error", "model_not_found");
    const names = async (path: string) => (await ask("GET", `${path}?search=fresh`)).body.data.map(({ name }: { name: string }) => name);
    expect(await names("/api/models")).toEqual([]);
    expect(await names("/api/admin/models")).toEqual(["fresh/model-1"]);
    await ask("PATCH", `/api/admin/models/${model.id}`, { body: { status: "active" } });
    await within(
      1000,
      () => say("fresh/model-1"),
      ({ status }) => status === 200,
    );
    expect((await ask("DELETE", `/api/admin/models/${model.id}`)).status).toBe(200);
    expectGatewayError(
      await within(
        1000,
        () => say("fresh/model-1"),
        ({ status }) => status !== 200,
      ),
      404,
      "not_found_error",
      "model_not_found",
    );
    expectError(await ask("DELETE", `/api/admin/models/${model.id}`), 404, "NOT_FOUND");
    expectError(await ask("PATCH", `/api/admin/models/${model.id}`, { body: { description: "x" } }), 404, "NOT_FOUND");
  });

  test("a taken name is 409, an unknown provider 404, a wrong field 400", async () => {
    expectError(await create({ name: "echo" }), 409, "VALIDATION_ERROR", "name");
    expectError(await create({ name: "x", provider: "nobody" }), 404, "NOT_FOUND", "provider");
    expectError(await create({ name: "x", type: "song" }), 400, "VALIDATION_ERROR", "type");
    expectError(await create({ name: "x", pricing: { input: -1, output: 0 } }), 400, "VALIDATION_ERROR", "pricing.input");
    expectError(await create({ name: "x", pricing: { input: 1.5, output: 0 } }), 400, "VALIDATION_ERROR", "pricing.input");
    expectError(await create({ name: "x", pricing: { unit: "hour", input: 1, output: 0 } }), 400, "VALIDATION_ERROR", "pricing.unit");
    const cached = { unit: "character", input: 1, output: 0, cachedInput: 1 };
    expectError(await create({ name: "x", pricing: cached }), 400, "VALIDATION_ERROR", "pricing.unit");
    const spoken = await create({ name: "spoken", type: "audio_speech", pricing: { unit: "character", input: 15_000_000_000, output: 0 } });
    expect(spoken.body.model.pricing).toMatchObject({ unit: "character", input: 15_000_000_000, audioInput: null });
    await ask("DELETE", `/api/admin/models/${spoken.body.model.id}`);
    expectError(await create({ name: "x", contextWindow: 0 }), 400, "VALIDATION_ERROR", "contextWindow");
  });

  test("the public lists are public, narrowed and sorted, in the records' shapes", async () => {
    await create({ name: "cheap", pricing: { input: 1, output: 1 } });
    await create({ name: "dear", pricing: { input: 9_000_000_000, output: 1 } });
    const list = async (query: string) => {
      const answer = await call(system.url, "GET", `/api/models?${query}`);
      records.expectShape(records.listOf(records.model), answer.body);
      return answer.body.data.map(({ name }: { name: string }) => name);
    };
    expect(await list("sort=input&search=e")).toEqual(["cheap", "echo", "dear"].filter((name) => name.includes("e")));
    expect(await list("sort=-input")).toEqual(["dear", "echo", "cheap"]);
    expect(await list("sort=name")).toEqual(["cheap", "dear", "echo"]);
    expect(await list("type=embedding")).toEqual([]);
    expect((await list("provider=echo")).length).toBe(3);
    expect(await list("provider=nobody")).toEqual([]);
    expectError(await call(system.url, "GET", "/api/models?sort=colour"), 400, "VALIDATION_ERROR", "sort");
    expectError(await call(system.url, "GET", "/api/models?type=song"), 400, "VALIDATION_ERROR", "type");
    const providers = await call(system.url, "GET", "/api/providers?search=ECH");
    records.expectShape(records.listOf(records.provider), providers.body);
    expect(providers.body.data).toEqual([expect.objectContaining({ name: "echo", kind: "echo", status: "up" })]);
  });

  test("a provider's address and key are in no answer, no log and no audit line", async () => {
    const fields = { kind: "echo", baseUrl: PROVIDER_ADDRESS, apiKey: PROVIDER_SECRET };
    const made = await ask("POST", "/api/admin/providers", { body: { name: "Secretive", ...fields } });
    expect(made.status).toBe(201);
    records.expectShape(records.adminProvider, made.body.provider);
    const { id } = made.body.provider;
    expectError(await ask("POST", "/api/admin/providers", { body: { name: "secretive", kind: "echo" } }), 409, "VALIDATION_ERROR", "name");
    expectError(await ask("POST", "/api/admin/providers", { body: { name: "Odd", kind: "telepathy" } }), 400, "VALIDATION_ERROR", "kind");
    expectError(
      await ask("POST", "/api/admin/providers", { body: { name: "Odd", kind: "echo", baseUrl: "file:///etc" } }),
      400,
      "VALIDATION_ERROR",
      "baseUrl",
    );
    const model = await create({ name: "secretive-model", provider: id });
    await within(
      1000,
      () => say("secretive-model"),
      ({ status }) => status === 200,
    );
    expectError(await ask("DELETE", `/api/admin/providers/${id}`), 400, "VALIDATION_ERROR");
    const texts = [made.text, model.text, (await ask("PATCH", `/api/admin/providers/${id}`, { body: fields2() })).text];
    for (const { method, path } of operations.filter((entry) => entry.method === "get" && !entry.path.includes(":"))) {
      texts.push(
        (await ask(method.toUpperCase(), `${path}${path.includes("verify") || path.includes("/me") ? "" : "?pageSize=100"}`)).text,
      );
    }
    for (const path of ["/models", "/models/secretive-model"]) texts.push((await call(system.url, "GET", path, { key: tenant.key })).text);
    texts.push((await say("secretive-model")).text, system.logs());
    for (const text of texts) {
      expect(text).not.toContain(PROVIDER_SECRET);
      expect(text).not.toContain("canary-provider.example");
    }
    await ask("DELETE", `/api/admin/models/${model.body.model.id}`);
    expect((await ask("DELETE", `/api/admin/providers/${id}`)).status).toBe(200);
    expectError(await ask("DELETE", `/api/admin/providers/${id}`), 404, "NOT_FOUND");
    expectError(await ask("PATCH", "/api/admin/providers/prov_nothing", { body: { name: "x" } }), 404, "NOT_FOUND");
  });

  const fields2 = () => ({ apiKey: `${PROVIDER_SECRET}-2`, baseUrl: `${PROVIDER_ADDRESS}/2` });
});

describe("the gateway's own state", () => {
  test("is for admins alone, shows what calls did, and never an address or a key", async () => {
    await chat(system, tenant.key, "counted");
    const [routing, guardrails, cache] = [
      await ask("GET", "/api/admin/routing"),
      await ask("GET", "/api/admin/guardrails"),
      await ask("GET", "/api/admin/cache"),
    ];
    const echo = routing.body.data.find(({ name }: { name: string }) => name === "echo");
    expect(echo.deployments[0].health.succeeded).toBeGreaterThan(0);
    expect(routing.text).not.toMatch(/canary-provider|baseUrl|apiKey/);
    expect([guardrails.body.data, cache.body.settings]).toEqual([[], null]);
    for (const [method, path] of [
      ["GET", "/api/admin/routing"],
      ["GET", "/api/admin/guardrails"],
      ["GET", "/api/admin/cache"],
      ["POST", "/api/admin/cache/clear"],
    ] as const) {
      expectError(await ask(method, path, { token: tenant.token }), 403, "FORBIDDEN");
      expectError(await ask(method, path, { token: undefined }), 401, "UNAUTHORIZED");
    }
  });

  test("a stored guardrail counts from the next call, can be tried, switched off and on again, and is deleted for good", async () => {
    const path = "/api/admin/guardrails/no-rivers";
    const body = { name: "no-rivers", kind: "word-list", byDefault: true, settings: { words: ["danube"] } };
    const said = (text: string) => chat(system, tenant.key, text);
    const made = await ask("POST", "/api/admin/guardrails", { body });
    expect([made.status, made.body.guardrail]).toMatchObject([201, { source: "catalog", file: null, enabled: true, stage: "pre" }]);
    expect((await said("the danube")).status).toBe(400);
    const tried = await ask("POST", "/api/admin/guardrails/try", { body: { name: "no-rivers", text: "Danube" } });
    expect(tried.body).toMatchObject({ action: "block", text: null });
    await ask("PATCH", path, { body: { enabled: false } });
    expect((await said("the danube")).status).toBe(200);
    await ask("PATCH", path, { body: { enabled: true, settings: { words: ["danube"], action: "mask" } } });
    expect((await said("the danube")).body.choices[0].message.content).toBe("the [REDACTED]");
    expect((await ask("DELETE", path)).body).toEqual({ deleted: true, name: "no-rivers" });
    expect((await said("the danube")).body.choices[0].message.content).toBe("the danube");
    expectError(await ask("DELETE", path), 404, "NOT_FOUND");
  });

  test("a guardrail that cannot work is refused at its field, and only admins change guardrails", async () => {
    const create = (body: object, options = {}) => ask("POST", "/api/admin/guardrails", { body: { name: "odd", ...body }, ...options });
    const fine = { kind: "word-list", settings: { words: ["a"] } };
    expectError(await create({ kind: "word-list", settings: { words: [] } }), 400, "VALIDATION_ERROR", "settings.words");
    expectError(await create({ kind: "regex", settings: { patterns: ["^(a+)+$"] } }), 400, "VALIDATION_ERROR", "settings.patterns");
    expectError(await create({ ...fine, name: "with space" }), 400, "VALIDATION_ERROR", "name");
    expectError(await create(fine, { token: tenant.token }), 403, "FORBIDDEN");
    expectError(await ask("PATCH", "/api/admin/guardrails/odd", { body: {}, token: tenant.token }), 403, "FORBIDDEN");
    expectError(await ask("POST", "/api/admin/guardrails/try", { body: { ...fine, text: "a" }, token: tenant.token }), 403, "FORBIDDEN");
  });

  test("routing that is stored counts from the next call: strategy and fallbacks of a model whose provider cannot be reached", async () => {
    const provider = { name: "Nowhere", kind: "openai", apiKey: "none", baseUrl: "http://127.0.0.1:9/v1" };
    const { id } = (await ask("POST", "/api/admin/providers", { body: provider })).body.provider;
    const body = { name: "nowhere", provider: id, inferenceModelId: "x", pricing: { input: 0, output: 0 } };
    const model = (await ask("POST", "/api/admin/models", { body })).body.model;
    const path = "/api/admin/routing/nowhere";
    const asked = () => chat(system, tenant.key, "reach me", { model: "nowhere", num_retries: 0 });
    const stored = { strategy: "least-busy", deployments: [{ id: model.id, weight: 3, order: 1 }], fallbacks: { general: ["echo"] } };
    await within(2000, asked, ({ status }) => status >= 500);
    const set = await ask("PUT", path, { body: stored });
    expect([set.status, set.body]).toMatchObject([200, { model: "nowhere", stored, fileFields: [] }]);
    expect((await asked()).status).toBe(200);
    const shown = (await ask("GET", "/api/admin/routing")).body.data.find(({ name }: { name: string }) => name === "nowhere");
    expect(shown).toMatchObject({ strategy: "least-busy", deployments: [{ weight: 3, order: 1, source: "catalog" }], stored });
    expect(shown.fallbacks.general).toEqual(["echo"]);
    for (const [wrong, field] of [
      [{ strategy: "astrology" }, "strategy"],
      [{ fallbacks: { general: ["no-such-model"] } }, "fallbacks.general"],
      [{ fallbacks: { contextWindow: ["nowhere"] } }, "fallbacks.contextWindow"],
      [{ deployments: [{ id: "other", weight: 1 }] }, "deployments"],
      [{ deployments: [{ id: model.id, weight: -1 }] }, "deployments.0.weight"],
    ] as const) {
      expectError(await ask("PUT", path, { body: wrong }), 400, "VALIDATION_ERROR", field);
    }
    expectError(await ask("PUT", "/api/admin/routing/no-such-model", { body: {} }), 404, "NOT_FOUND");
    expectError(await ask("PUT", path, { body: {}, token: tenant.token }), 403, "FORBIDDEN");
    await ask("PUT", path, { body: {} });
    expect((await asked()).status).toBeGreaterThanOrEqual(500);
    await ask("DELETE", `/api/admin/models/${model.id}`);
    await ask("DELETE", `/api/admin/providers/${id}`);
  });

  test("a cache that is stored counts from the next call, and what cannot work is refused at its field", async () => {
    const isCached = async () => (await chat(system, tenant.key, "cached from now on?")).headers.has("x-gw-cache-key");
    const set = (body: object, options = {}) => ask("PUT", "/api/admin/cache", { body, ...options });
    expect([await isCached(), await isCached()]).toEqual([false, false]);
    expect((await set({ enabled: true, ttlSeconds: 60 })).body.configured).toMatchObject({
      enabled: true,
      ttlSeconds: 60,
      source: "catalog",
    });
    expect([await isCached(), await isCached()]).toEqual([false, true]);
    expect((await ask("GET", "/api/admin/cache")).body).toMatchObject({ settings: { ttlSeconds: 60 }, configured: { file: null } });
    expectError(await set({ enabled: true, type: "redis" }), 400, "VALIDATION_ERROR", "type");
    expectError(await set({ enabled: true, ttlSeconds: 0 }), 400, "VALIDATION_ERROR", "ttlSeconds");
    const semantic = { mode: "all", embeddingModel: "no-such-model" };
    expectError(await set({ enabled: true, semantic }), 400, "VALIDATION_ERROR", "semantic.embeddingModel");
    expectError(await set({ enabled: true, semantic: { ...semantic, threshold: 2 } }), 400, "VALIDATION_ERROR", "semantic.threshold");
    expectError(await set({ enabled: false }, { token: tenant.token }), 403, "FORBIDDEN");
    await set({ enabled: false });
    expect(await isCached()).toBe(false);
    const actions = ["guardrail.create", "guardrail.update", "guardrail.delete", "routing.update", "cache.update"];
    const audited = await Promise.all(actions.map((action) => ask("GET", `/api/admin/audit?action=${action}&pageSize=1`)));
    expect(audited.map(({ body }) => body.data[0]?.action)).toEqual(actions);
  });

  test("clearing the cache is audited", async () => {
    expect((await ask("POST", "/api/admin/cache/clear", { headers: { "x-request-id": "cleared-1" } })).body).toEqual({ cleared: true });
    const { data } = (await ask("GET", "/api/admin/audit?action=cache.clear")).body;
    expect(data[0]).toMatchObject({ requestId: "cleared-1", target: "all" });
  });
});
