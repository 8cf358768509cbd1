import { createHash } from "node:crypto";
import { adminToken, call, chat, inviteToken, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError, expectGatewayError, nameOf, operations, within } from "./support.ts";

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

  test("clearing the cache is audited", async () => {
    expect((await ask("POST", "/api/admin/cache/clear", { headers: { "x-request-id": "cleared-1" } })).body).toEqual({ cleared: true });
    const { data } = (await ask("GET", "/api/admin/audit?action=cache.clear")).body;
    expect(data[0]).toMatchObject({ requestId: "cleared-1", target: "all" });
  });
});

describe("ledger and audit", () => {
  test("the ledger verifies: no first bad entry, a sum of zero, as many entries as its last number", async () => {
    const answer = await ask("GET", "/api/admin/ledger/verify");
    expect(answer.body).toEqual({
      ok: true,
      entries: expect.any(Number),
      sum: 0,
      lastSeq: answer.body.entries,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      anchors: expect.any(Number),
      firstBad: null,
      accounts: expect.any(Number),
      usageRows: expect.any(Number),
      rollups: expect.any(Number),
    });
    await call(system.url, "POST", "/api/credits/purchase", { token: tenant.token, body: { amount: 5 } });
    const after = await ask("GET", "/api/admin/ledger/verify");
    expect(after.body).toMatchObject({ ok: true, lastSeq: answer.body.lastSeq + 1 });
    expect(after.body.hash).not.toBe(answer.body.hash);
  });

  test("a fast check without a checkpoint is the full one; another mode is refused", async () => {
    const [full, fast] = [await ask("GET", "/api/admin/ledger/verify?mode=full"), await ask("GET", "/api/admin/ledger/verify?mode=fast")];
    expect(fast.body).toMatchObject({ ok: true, firstBad: null });
    expect(Object.keys(fast.body)).toEqual(Object.keys(full.body));
    expectError(await ask("GET", "/api/admin/ledger/verify?mode=quick"), 400, "VALIDATION_ERROR", "mode");
  });

  test("the audit log verifies, and each of its entries has another hash", async () => {
    const before = (await ask("GET", "/api/admin/audit/verify")).body;
    expect(before).toEqual({
      ok: true,
      entries: expect.any(Number),
      chained: before.entries,
      lastSeq: before.entries,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      firstBad: null,
    });
    await ask("PUT", "/api/gw/organizations", { token: tenant.token, body: { name: "Chained" } });
    const after = (await ask("GET", "/api/admin/audit/verify")).body;
    expect(after).toMatchObject({ ok: true, lastSeq: before.lastSeq + 1 });
    const { data } = (await ask("GET", "/api/admin/audit?pageSize=2")).body;
    expect(data.map(({ hash }: { hash: string }) => hash)).toEqual([after.hash, before.hash]);
  });

  test("the export has one entry per line, oldest first, and its readers can recompute every hash", async () => {
    const answer = await ask("GET", "/api/admin/audit?format=jsonl");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/jsonl; charset=utf-8"]);
    const entries = answer.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    let hash = "0".repeat(64);
    for (const { seq, at, actorId, actorKind, action, target, organizationId, requestId, details, hash: stored } of entries) {
      const fields = [hash, seq, Date.parse(at), actorId, actorKind, action, target, organizationId, requestId, JSON.stringify(details)];
      hash = createHash("sha256").update(JSON.stringify(fields)).digest("hex");
      expect([seq, hash]).toEqual([seq, stored]);
    }
    const verified = (await ask("GET", "/api/admin/audit/verify")).body;
    expect([entries.length, hash]).toEqual([verified.entries, verified.hash]);
  });

  test("the log is filtered by person, action and time, as a page and as an export", async () => {
    const person = await newTenant(system);
    await ask("POST", "/api/auth/token", { token: undefined, body: { email: person.email, password: person.password } });
    const query = `actor=${person.userId}&action=session.open`;
    const { data, meta } = (await ask("GET", `/api/admin/audit?${query}`)).body;
    expect(data[0]).toMatchObject({ actorId: person.userId, actorKind: "user", organizationId: person.organizationId });
    const exported = await ask("GET", `/api/admin/audit?${query}&format=jsonl`);
    expect(exported.text.trimEnd().split("\n")).toHaveLength(meta.total);
    for (const range of ["endDate=2001-01-01", `startDate=${new Date(Date.parse(data[0].at) + 1).toISOString()}`]) {
      expect((await ask("GET", `/api/admin/audit?${query}&${range}`)).body.data).toEqual([]);
      expect((await ask("GET", `/api/admin/audit?${query}&${range}&format=jsonl`)).text).toBe("");
    }
    expectError(await ask("GET", "/api/admin/audit?actor=somebody"), 400, "VALIDATION_ERROR", "actor");
    expectError(await ask("GET", "/api/admin/audit?startDate=yesterday"), 400, "VALIDATION_ERROR", "startDate");
    expectError(await ask("GET", "/api/admin/audit?format=xml"), 400, "VALIDATION_ERROR", "format");
  });

  test("an owner reads and exports the entries of their organization, and no other ones; a member reads none", async () => {
    const [owner, guest] = [await newTenant(system), await newTenant(system)];
    await joinTeam(system, { from: owner, guest, teamId: owner.teamId, role: "member" });
    const audit = (token: string, query = "") => ask("GET", `/api/gw/organizations/audit${query}`, { token });
    const { data, meta } = (await audit(owner.token)).body;
    const actions = data.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(expect.arrayContaining(["user.signup", "team.member.invite", "team.member.join"]));
    const lines = (await audit(owner.token, "?format=jsonl")).text.trimEnd().split("\n");
    expect(lines).toHaveLength(meta.total);
    for (const entry of [...data, ...lines.map((line) => JSON.parse(line))]) expect(entry.organizationId).toBe(owner.organizationId);
    const everywhere = await ask("GET", `/api/admin/audit?organizationId=${owner.organizationId}`);
    expect(everywhere.body.meta.total).toBe(meta.total);
    await ask("PUT", "/api/gw/organizations", { token: guest.token, body: { id: owner.organizationId, active: true } });
    for (const query of ["", "?format=jsonl"]) expectError(await audit(guest.token, query), 403, "FORBIDDEN");
  });

  test("every kind of write leaves a line that says who, what and in which request", async () => {
    const owner = await newTenant(system, { creditNano: 5, name: "audited" });
    const guest = await newTenant(system);
    const [token, teamId] = [owner.token, owner.teamId];
    const invited = await ask("POST", "/api/gw/teams/invite-member", { token, body: { teamId, email: guest.email } });
    const provider = await ask("POST", "/api/admin/providers", { body: { name: "Audited", kind: "echo" } });
    const model = await ask("POST", "/api/admin/models", { body: { name: "audited", provider: "Audited", inferenceModelId: "echo" } });
    const hook = { url: "https://hooks.example.org/", events: ["balance.low"] };
    const webhook = await ask("POST", "/api/gw/webhooks", { token, body: hook });
    const mcp = { name: "audited", url: "https://mcp.example.org/" };
    const server = await ask("POST", "/api/gw/mcp-servers", { token, body: mcp });
    const other = await ask("POST", "/api/auth/token", { body: { email: owner.email, password: owner.password } });
    await ask("POST", "/api/auth/token", { body: { email: owner.email, password: owner.password } });
    const sessions = await ask("GET", "/api/auth/sessions", { token });
    const writes: [string, string, string, object | undefined, string][] = [
      ["user.signup", "POST", "/api/auth/signup", { email: "audit@example.org", password: "long enough" }, ""],
      ["session.open", "POST", "/api/auth/token", { email: owner.email, password: owner.password }, ""],
      ["session.refresh", "POST", "/api/auth/token/refresh", undefined, other.body.token],
      ["organization.update", "PUT", "/api/gw/organizations", { name: "Audited" }, token],
      ["team.create", "POST", "/api/gw/teams", { name: "Audited" }, token],
      ["team.update", "PATCH", `/api/gw/teams/${teamId}`, { rpm: 1000 }, token],
      ["team.member.invite", "POST", "/api/gw/teams/invite-member", { teamId, email: "invited@example.org" }, token],
      ["team.member.join", "POST", "/api/invitations/accept", { token: inviteToken(invited) }, guest.token],
      ["team.member.update", "POST", "/api/gw/teams/update-member", { teamId, memberId: guest.userId, role: "admin" }, token],
      ["team.member.remove", "POST", "/api/gw/teams/remove-member", { teamId, memberId: guest.userId }, token],
      ["key.create", "POST", "/api/gw/api-keys", { name: "Audited", team_id: teamId }, token],
      ["key.update", "POST", "/api/api-keys/update", { token: owner.keyId, name: "Audited" }, token],
      ["key.rotate", "POST", "/api/api-keys/rotate", { apiKey: owner.keyId }, token],
      ["key.remove", "POST", "/api/api-keys/remove", { apiKey: owner.keyId }, token],
      ["credits.purchase", "POST", "/api/credits/purchase", { amount: 5 }, token],
      ["webhook.create", "POST", "/api/gw/webhooks", hook, token],
      ["webhook.test", "POST", `/api/gw/webhooks/${webhook.body.webhook.id}/test`, undefined, token],
      ["webhook.delete", "DELETE", `/api/gw/webhooks/${webhook.body.webhook.id}`, undefined, token],
      ["mcp_server.create", "POST", "/api/gw/mcp-servers", { ...mcp, name: "audited-2" }, token],
      ["mcp_server.delete", "DELETE", `/api/gw/mcp-servers/${server.body.server.id}`, undefined, token],
      ["organization.limits", "PATCH", `/api/admin/organizations/${owner.organizationId}`, { tpm: 1000 }, admin],
      ["credits.grant", "POST", `/api/admin/organizations/${owner.organizationId}/credits`, { amount: 5 }, admin],
      ["organization.block", "POST", `/api/admin/organizations/${owner.organizationId}/block`, {}, admin],
      ["organization.unblock", "POST", `/api/admin/organizations/${owner.organizationId}/unblock`, {}, admin],
      ["team.block", "POST", `/api/admin/teams/${teamId}/block`, {}, admin],
      ["team.unblock", "POST", `/api/admin/teams/${teamId}/unblock`, {}, admin],
      ["model.update", "PATCH", `/api/admin/models/${model.body.model.id}`, { description: "x" }, admin],
      ["model.update", "PUT", `/api/admin/models/${model.body.model.id}`, { description: "y" }, admin],
      ["model.delete", "DELETE", `/api/admin/models/${model.body.model.id}`, undefined, admin],
      ["provider.update", "PATCH", `/api/admin/providers/${provider.body.provider.id}`, { name: "Audited 2" }, admin],
      ["provider.delete", "DELETE", `/api/admin/providers/${provider.body.provider.id}`, undefined, admin],
      ["provider.create", "POST", "/api/admin/providers", { name: "Audited 3", kind: "echo" }, admin],
      ["model.create", "POST", "/api/admin/models", { name: "audited 3", provider: "Audited 3", inferenceModelId: "echo" }, admin],
      ["backup.create", "POST", "/api/admin/backup", undefined, admin],
      ["user.update", "PATCH", `/api/admin/users/${guest.userId}`, { name: "Audited" }, admin],
      ["user.delete", "DELETE", `/api/admin/users/${guest.userId}`, undefined, admin],
      ["session.close", "DELETE", `/api/auth/sessions/${sessions.body.data[0].id}`, undefined, token],
      ["session.close-others", "DELETE", "/api/auth/sessions", undefined, token],
      ["user.password.change", "POST", "/api/auth/password", { currentPassword: owner.password, newPassword: "another password" }, token],
      ["user.password.reset-request", "POST", "/api/auth/password/reset-request", { email: owner.email }, ""],
      ["session.close", "POST", "/api/auth/logout", undefined, token],
    ];
    for (const [index, [action, method, path, body, who]] of writes.entries()) {
      const headers = { "x-request-id": `audited-${index}` };
      const answer = await ask(method, path, { token: who === "" ? undefined : who, headers, ...(body ? { body } : {}) });
      expect([action, answer.status < 300 || answer.text]).toEqual([action, true]);
      const { data } = (await ask("GET", `/api/admin/audit?action=${action}&pageSize=5`)).body;
      expect(data[0]).toMatchObject({ action, requestId: `audited-${index}`, target: expect.any(String), at: expect.any(String) });
      if (who === token) expect(data[0].actorId).toBe(owner.userId);
    }
    // Every write of the table is one of those above, but for the aliases, the reset and the verification, whose tokens are in a mail, and the
    // second factor, which totp.test.ts covers.
    const done = new Set(
      writes.map(([, method, path]) => `${method.toLowerCase()} ${path.replace(/\/(team|org|model|prov|wh|mcp|ses)_\w+|\/\d+/g, "/:id")}`),
    );
    const left = operations
      .filter(({ method }) => method !== "get")
      .map(nameOf)
      .filter((name) => !done.has(name) && !name.includes("/totp"));
    expect(left.sort()).toEqual([
      "post /api/auth/password/reset",
      "post /api/auth/register",
      "post /api/auth/verify-email",
      "post /api/auth/verify-email/resend",
    ]);
    const secrets = (await ask("GET", "/api/admin/audit?pageSize=100")).text;
    for (const secret of ["long enough", "another password", owner.password, inviteToken(invited)]) expect(secrets).not.toContain(secret);
  });
});
