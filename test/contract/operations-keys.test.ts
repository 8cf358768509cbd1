import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, call, chat, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError, expectGatewayError, within } from "./support.ts";

let system: System;
let tenant: Tenant;
let ask: Ask;

beforeAll(async () => {
  system = await startSystem();
  tenant = await newTenant(system, { creditNano: 1_000_000_000 });
  ask = (method, path, options) => call(system.url, method, path, options);
});
afterAll(() => system.stop());

const create = (body: object = {}) =>
  ask("POST", "/api/gw/api-keys", { token: tenant.token, body: { name: "a key", team_id: tenant.teamId, ...body } });
const post = (operation: string, body: object) => ask("POST", `/api/api-keys/${operation}`, { token: tenant.token, body });
const references = ({ body }: Answer): [string, string][] => [
  ["id", body.apiKey.id],
  ["hash", body.apiKey.token],
  ["secret", body.key],
];
const refused = ({ status }: Answer) => status === 401;

describe("making", () => {
  test("a key is 201 with its record and the secret, which is shown this once", async () => {
    const made = await create({ name: "shown once" });
    expect(made.status).toBe(201);
    expect(Object.keys(made.body).sort()).toEqual(["apiKey", "key"]);
    records.expectShape(records.apiKey, made.body.apiKey);
    expect(made.body.key).toMatch(/^sk-[0-9A-Za-z]{28,}$/);
    expect(made.body.apiKey).toMatchObject({
      name: "shown once",
      team_id: tenant.teamId,
      teamId: tenant.teamId,
      organizationId: tenant.organizationId,
      maskedKey: `sk-...${made.body.key.slice(-4)}`,
      status: "active",
      models: null,
      rpm: null,
      tpm: null,
      maxParallelRequests: null,
      maxBudget: null,
      spend: 0,
      spendUsd: "0.00",
      createdBy: tenant.userId,
      lastUsedAt: null,
      expiresAt: null,
    });
    for (const path of ["/api/api-keys", `/api/gw/teams/${tenant.teamId}`, "/api/gw/logs"]) {
      expect((await ask("GET", path, { token: tenant.token })).text).not.toContain(made.body.key);
    }
    expect((await chat(system, made.body.key, "works at once")).status).toBe(200);
    expect(system.logs()).not.toContain(made.body.key);
  });

  test("both spellings of the team's id are taken, and all limits are kept", async () => {
    const limits = {
      models: ["echo"],
      rpm: 60,
      tpm: 9000,
      maxParallelRequests: 3,
      maxBudget: 5_000_000,
      expiresAt: "2099-01-02T03:04:05.678Z",
    };
    const { team_id: _other, ...body } = { name: "limited", team_id: "", teamId: tenant.teamId, ...limits };
    const made = await ask("POST", "/api/gw/api-keys", { token: tenant.token, body });
    expect(made.status).toBe(201);
    expect(made.body.apiKey).toMatchObject(limits);
    records.expectShape(records.apiKey, made.body.apiKey);
  });

  test.each([
    ["name", { name: "" }],
    ["team_id", { team_id: undefined }],
    ["models", { models: "echo" }],
    ["rpm", { rpm: 0 }],
    ["rpm", { rpm: 1.5 }],
    ["tpm", { tpm: -1 }],
    ["maxParallelRequests", { maxParallelRequests: "1" }],
    ["maxBudget", { maxBudget: -1 }],
    ["maxBudget", { maxBudget: 2 ** 53 }],
    ["expiresAt", { expiresAt: "tomorrow" }],
    ["expiresAt", { expiresAt: "2099-13-01T00:00:00Z" }],
  ])("a wrong %s is 400: %p", async (path, body) => {
    expectError(await create(body), 400, "VALIDATION_ERROR", path);
  });

  test("a team that is not there is 404", async () => {
    expectError(await create({ team_id: "team_nothing" }), 404, "NOT_FOUND");
  });
});

describe("listing", () => {
  test("is narrowed by search, team and status", async () => {
    const owner = await newTenant(system);
    const list = async (query: string): Promise<string[]> => {
      const answer = await ask("GET", `/api/api-keys?${query}`, { token: owner.token });
      records.expectShape(records.listOf(records.apiKey), answer.body);
      return answer.body.data.map(({ name }: { name: string }) => name);
    };
    const team = await ask("POST", "/api/gw/teams", { token: owner.token, body: { name: "second" } });
    const make = (name: string, team_id: string, more: object = {}) =>
      ask("POST", "/api/gw/api-keys", { token: owner.token, body: { name, team_id, ...more } });
    await make("Alpha", team.body.team.id);
    await make("beta", owner.teamId, { expiresAt: "2001-01-01T00:00:00Z" });
    expect((await list("")).sort()).toEqual(["Alpha", "beta", "first"]);
    expect(await list("search=ALPH")).toEqual(["Alpha"]);
    expect(await list("search=.*")).toEqual([]);
    expect(await list(`team_id=${team.body.team.id}`)).toEqual(["Alpha"]);
    expect(await list(`teamId=${team.body.team.id}`)).toEqual(["Alpha"]);
    expect(await list("status=expired")).toEqual(["beta"]);
    expect((await list("status=active")).sort()).toEqual(["Alpha", "first"]);
    expect(await list("status=blocked")).toEqual([]);
    expectError(await ask("GET", "/api/api-keys?status=nice", { token: owner.token }), 400, "VALIDATION_ERROR", "status");
    expectError(await ask("GET", "/api/api-keys?team_id=team_nothing", { token: owner.token }), 404, "NOT_FOUND");
  });

  test("members see only the keys of their teams, and manage only keys they made", async () => {
    const member = await newTenant(system);
    const team = await ask("POST", "/api/gw/teams", { token: tenant.token, body: { name: "with a member" } });
    await joinTeam(system, { from: tenant, guest: member, teamId: team.body.team.id });
    await ask("PUT", "/api/gw/organizations", { token: member.token, body: { id: tenant.organizationId, active: true } });
    const hidden = await create({ name: "of another team" });
    const shown = await create({ name: "of the owner", team_id: team.body.team.id });
    const own = await ask("POST", "/api/gw/api-keys", { token: member.token, body: { name: "own", team_id: team.body.team.id } });
    const seen = await ask("GET", "/api/api-keys", { token: member.token });
    expect(seen.body.data.map(({ name }: { name: string }) => name).sort()).toEqual(["of the owner", "own"]);
    const rename = (apiKey: string) => ask("POST", "/api/api-keys/update", { token: member.token, body: { apiKey, name: "renamed" } });
    expectError(await rename(hidden.body.apiKey.id), 404, "NOT_FOUND");
    expectError(await rename(shown.body.apiKey.id), 403, "FORBIDDEN");
    expect((await rename(own.body.apiKey.id)).status).toBe(200);
    expectError(
      await ask("POST", "/api/gw/api-keys", { token: member.token, body: { name: "x", team_id: tenant.teamId } }),
      404,
      "NOT_FOUND",
    );
  });
});

describe("changing", () => {
  test("a key is named by its id, its hash or the secret, under either field name", async () => {
    const made = await create();
    for (const [form, token] of references(made)) {
      const renamed = await post("update", { token, name: `renamed by ${form}` });
      expect(renamed.status).toBe(200);
      records.expectShape(records.apiKey, renamed.body.apiKey);
      expect(renamed.body.apiKey).toMatchObject({ id: made.body.apiKey.id, name: `renamed by ${form}` });
      expect((await post("update", { apiKey: token, rpm: 7 })).body.apiKey.rpm).toBe(7);
      expect(renamed.text).not.toContain(made.body.key);
    }
  });

  test("limits are set, kept when not named, and taken away with null", async () => {
    const { id } = (await create({ rpm: 5 })).body.apiKey;
    expect((await post("update", { token: id, tpm: 100, maxBudget: 9 })).body.apiKey).toMatchObject({ rpm: 5, tpm: 100, maxBudget: 9 });
    expect((await post("update", { token: id, rpm: null, max_budget: null })).body.apiKey).toMatchObject({
      rpm: null,
      tpm: 100,
      maxBudget: null,
    });
    expectError(await post("update", { token: id, rpm: -1 }), 400, "VALIDATION_ERROR", "rpm");
    expectError(await post("update", { name: "nobody" }), 400, "VALIDATION_ERROR", "token");
    expectError(await post("update", { token: "key_nothing", name: "x" }), 404, "NOT_FOUND");
    expectError(await post("update", { token: "f".repeat(64), name: "x" }), 404, "NOT_FOUND");
    expectError(await post("update", { token: "sk-something", name: "x" }), 404, "NOT_FOUND");
  });

  test("a model taken off a key is refused at the edge within a second", async () => {
    const made = await create();
    expect((await chat(system, made.body.key, "before")).status).toBe(200);
    await post("update", { token: made.body.apiKey.id, models: ["another"] });
    const answer = await within(
      1000,
      () => chat(system, made.body.key, "after"),
      ({ status }) => status !== 200,
    );
    expectGatewayError(answer, 403, "permission_denied_error", "model_not_allowed");
  });

  test("an expired key is 401 like any other, and is listed as expired", async () => {
    const made = await create({ expiresAt: new Date(Date.now() + 1500).toISOString() });
    expect((await chat(system, made.body.key, "still good")).status).toBe(200);
    await sleep(1600);
    expectGatewayError(await chat(system, made.body.key, "too late"), 401, "authentication_error", "invalid_api_key");
    const [key] = (await ask("GET", `/api/api-keys?search=${made.body.apiKey.id}`, { token: tenant.token })).body.data;
    expect(key.status).toBe("expired");
  });

  test("use shows: spend and last use", async () => {
    const made = await create({ name: "used" });
    const answer = await chat(system, made.body.key, "some words to be paid");
    const [key] = (await ask("GET", "/api/api-keys?search=used", { token: tenant.token })).body.data;
    expect(key.spend).toBe(Number(answer.headers.get("x-gw-cost-nano")));
    expect(Date.now() - Date.parse(key.lastUsedAt)).toBeLessThan(10_000);
  });
});

describe("removing", () => {
  test.each(["id", "hash", "secret"])("by its %s: refused at the edge within a second, 404 when repeated", async (form) => {
    const made = await create();
    const [, reference] = references(made).find(([name]) => name === form) ?? [];
    expect((await chat(system, made.body.key, "before")).status).toBe(200);
    const removed = await post("remove", { apiKey: reference });
    expect(removed.status).toBe(200);
    const answer = await within(1000, () => chat(system, made.body.key, "after"), refused);
    expectGatewayError(answer, 401, "authentication_error", "invalid_api_key");
    expectError(await post("remove", { apiKey: reference }), 404, "NOT_FOUND");
    for (const [, other] of references(made)) expectError(await post("update", { token: other, name: "x" }), 404, "NOT_FOUND");
  });

  test("many removals at once: one is done, the others are 404", async () => {
    const made = await create();
    const answers = await Promise.all(Array.from({ length: 5 }, () => post("remove", { apiKey: made.body.apiKey.id })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404]);
  });

  test("its calls stay in the log and can be found by its id", async () => {
    const made = await create();
    await chat(system, made.body.key, "remembered");
    await post("remove", { apiKey: made.body.apiKey.id });
    const logs = await ask("GET", `/api/gw/logs?apiKey=${made.body.apiKey.id}`, { token: tenant.token });
    expect(logs.body.data).toHaveLength(1);
  });
});

describe("rotating", () => {
  test("without grace the old secret is refused within a second; id, name and limits stay", async () => {
    const made = await create({ name: "rotated", rpm: 50 });
    await chat(system, made.body.key, "before");
    const rotated = await post("rotate", { apiKey: made.body.key });
    expect(rotated.status).toBe(200);
    expect(rotated.body.key).not.toBe(made.body.key);
    records.expectShape(records.apiKey, rotated.body.apiKey);
    expect(rotated.body.apiKey).toMatchObject({ id: made.body.apiKey.id, name: "rotated", rpm: 50 });
    await within(1000, () => chat(system, made.body.key, "after"), refused);
    expect((await chat(system, rotated.body.key, "after")).status).toBe(200);
  });

  test("with grace both work until it ends, then only the new one", async () => {
    const made = await create();
    const rotated = await post("rotate", { token: made.body.apiKey.id, graceSeconds: 2 });
    for (const key of [made.body.key, rotated.body.key]) expect((await chat(system, key, "both")).status).toBe(200);
    await sleep(2200);
    expectGatewayError(await chat(system, made.body.key, "late"), 401, "authentication_error", "invalid_api_key");
    expect((await chat(system, rotated.body.key, "new")).status).toBe(200);
  });

  test("a removed key's old secret within its grace is refused too", async () => {
    const made = await create();
    const rotated = await post("rotate", { token: made.body.apiKey.id, graceSeconds: 600 });
    expect((await chat(system, made.body.key, "in grace")).status).toBe(200);
    await post("remove", { apiKey: made.body.apiKey.id });
    for (const key of [made.body.key, rotated.body.key]) await within(1000, () => chat(system, key, "gone"), refused);
  });

  test("a wrong grace is 400, a missing key 404", async () => {
    const made = await create();
    expectError(await post("rotate", { apiKey: made.body.apiKey.id, graceSeconds: -1 }), 400, "VALIDATION_ERROR", "graceSeconds");
    expectError(await post("rotate", { apiKey: made.body.apiKey.id, graceSeconds: 1e9 }), 400, "VALIDATION_ERROR", "graceSeconds");
    expectError(await post("rotate", { apiKey: "key_nothing" }), 404, "NOT_FOUND");
  });
});

describe("scopes", () => {
  const federation = (more: object = {}) => ({
    name: "of a key",
    rounds: 1,
    task: { name: "softmax", dataset: "digits" },
    participants: [{ join: true }],
    ...more,
  });
  const federate = (key: string, more?: object) => ask("POST", "/training/federations", { key, body: federation(more) });

  test("a key without the scope train is refused wherever training is, and still makes calls", async () => {
    const { body } = await create({ scopes: ["inference"] });
    expect(body.apiKey.scopes).toEqual(["inference"]);
    expectError(await federate(body.key), 403, "FORBIDDEN");
    for (const path of ["/training/federations", "/training/nodes", "/training/nodes/node_local/v1/info", "/training/datasets"]) {
      expectError(await ask("GET", path, { key: body.key }), 403, "FORBIDDEN");
    }
    expect((await chat(system, body.key, "hi")).status).toBe(200);
  });

  test("a key without the scope inference makes no calls, and is given it within a second", async () => {
    const { body } = await create({ scopes: ["train"] });
    expectGatewayError(await chat(system, body.key, "hi"), 403, "permission_denied_error", "model_not_allowed");
    const messages = { apiKey: body.key, model: "echo", messages: [{ role: "user", content: "hi" }] };
    expectError(await ask("POST", "/api/gw/messages", { token: tenant.token, body: messages }), 403, "FORBIDDEN");
    expect((await federate(body.key)).status).toBe(201);
    expect((await post("update", { token: body.apiKey.id, scopes: null })).body.apiKey.scopes).toBeNull();
    await within(
      1500,
      () => chat(system, body.key, "hi"),
      ({ status }) => status === 200,
    );
  });

  test("a scope that there is not, and none, are the caller's mistakes", async () => {
    expectError(await create({ scopes: ["everything"] }), 400, "VALIDATION_ERROR", "scopes");
    expectError(await create({ scopes: [] }), 400, "VALIDATION_ERROR", "scopes");
  });

  test("a key with a budget pays no participants: its budget bounds calls only", async () => {
    const { body } = await create({ maxBudget: 1000 });
    expectError(await federate(body.key, { budgetNanoUsd: 1 }), 403, "FORBIDDEN");
    const free = await federate(body.key);
    expect(free.status).toBe(201);
    const paid = await ask("POST", "/training/federations", { token: tenant.token, body: federation({ budgetNanoUsd: 1 }) });
    const { id } = paid.body.federation;
    expectError(await ask("POST", `/training/federations/${id}/extend`, { key: body.key, body: { rounds: 1 } }), 403, "FORBIDDEN");
  });

  test("nor does it through a federation that is a participant, however deep", async () => {
    const { body } = await create({ maxBudget: 1000 });
    const waiting = { waits: true, rounds: undefined };
    const make = async (more: object) => {
      const made = await ask("POST", "/training/federations", { token: tenant.token, body: federation({ ...waiting, ...more }) });
      expect(made.status).toBe(201);
      return made.body.federation.id;
    };
    const inner = await make({ budgetNanoUsd: 5_000_000 });
    expectError(await federate(body.key, { participants: [{ federation: inner }], budgetNanoUsd: 0 }), 403, "FORBIDDEN");
    const middle = await make({ participants: [{ federation: inner }] });
    expectError(await federate(body.key, { participants: [{ federation: middle }] }), 403, "FORBIDDEN");
    expectError(await ask("POST", `/training/federations/${middle}/extend`, { key: body.key, body: { rounds: 1 } }), 403, "FORBIDDEN");
  });
});
