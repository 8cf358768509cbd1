import { type Answer, adminToken, call, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { INPUTS } from "./inputs.ts";
import * as records from "./records.ts";
import { eachOf, expectError, fieldsOf, nameOf, operations, pathOf } from "./support.ts";

// What holds for every operation of the table alike: who is asked first, which methods, which bodies, paging, repetition.

let system: System;
let tenant: Tenant;
let admin: string;
/** For the lists that stand below another thing. */
let webhookId: string;
let alertId: string;

beforeAll(async () => {
  system = await startSystem();
  [tenant, admin] = [await newTenant(system), await adminToken(system)];
  const body = { url: "https://hooks.example.org/", events: ["balance.blocked"] };
  webhookId = (await call(system.url, "POST", "/api/gw/webhooks", { token: tenant.token, body })).body.webhook.id;
  const alert = { name: "watched", errorRatePercent: 5 };
  alertId = (await call(system.url, "POST", "/api/gw/alerts", { token: tenant.token, body: alert })).body.alert.id;
});
afterAll(() => system.stop());

const somewhere = (path: string) => pathOf(path, { id: "1" });
const tokenFor = (auth: string) => (auth === "admin" ? admin : auth === "user" ? tenant.token : undefined);
const table = operations.map((entry) => [nameOf(entry), entry] as const);

test.each(table.filter(([, { auth }]) => auth !== "none"))(
  "%s without a good token is 401, whatever else is wrong",
  async (_name, entry) => {
    const ask = (headers: Record<string, string>) =>
      call(system.url, entry.method.toUpperCase(), `${somewhere(entry.path)}?page=0`, {
        headers,
        ...(entry.body ? { body: "{broken" } : {}),
      });
    const forged = `${tenant.token.split(".").slice(0, 2).join(".")}.${"A".repeat(43)}`;
    const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${tenant.token.split(".")[1]}.`;
    for (const headers of [
      {},
      { authorization: `Bearer ${forged}` },
      { authorization: `Bearer ${unsigned}` },
      { "x-gw-api-key": tenant.key },
    ]) {
      expectError(await ask(headers as Record<string, string>), 401, "UNAUTHORIZED");
    }
  },
);

test.each(table.filter(([, { auth }]) => auth === "admin"))(
  "%s of somebody who is no admin is 403, whatever else is wrong",
  async (_name, entry) => {
    const answer = await call(system.url, entry.method.toUpperCase(), `${somewhere(entry.path)}?page=0`, {
      token: tenant.token,
      ...(entry.body ? { body: "{broken" } : {}),
    });
    expectError(answer, 403, "FORBIDDEN");
  },
);

test("another method on a known path is 405 and names the right ones; OPTIONS names them too", async () => {
  const paths = Map.groupBy(operations, ({ path }) => path);
  await eachOf([...paths], async ([path, entries]) => {
    const allowed = entries.map(({ method }) => method.toUpperCase());
    const other = ["GET", "POST", "PUT", "PATCH", "DELETE"].find((method) => !allowed.includes(method)) ?? "";
    for (const method of [other, "OPTIONS"]) {
      const answer = await call(system.url, method, somewhere(path), { token: admin });
      const allow = (answer.headers.get("allow") ?? "").split(", ");
      expect({ path, method, status: answer.status, allow }).toEqual({
        path,
        method,
        status: method === "OPTIONS" ? 204 : 405,
        allow: expect.arrayContaining(allowed),
      });
      expect(allow).not.toContain(other);
    }
  });
});

test("an unknown path is a 404 in the platform's shape", async () => {
  expectError(await call(system.url, "GET", "/api/nothing/here"), 404, "NOT_FOUND");
  expectError(await call(system.url, "GET", "/api/gw/teams/%zz", { token: tenant.token }), 400, "VALIDATION_ERROR");
});

test.each(table.filter(([, { body }]) => body))("%s refuses bodies that are broken, too large, or no JSON", async (_name, entry) => {
  const send = (body: string, headers: Record<string, string> = {}) =>
    call(system.url, entry.method.toUpperCase(), somewhere(entry.path), { token: tokenFor(entry.auth), body, headers });
  expectError(await send("{broken"), 400, "VALIDATION_ERROR");
  expectError(await send("[]"), 400, "VALIDATION_ERROR");
  expectError(await send("null"), 400, "VALIDATION_ERROR");
  expectError(await send("a=b", { "content-type": "application/x-www-form-urlencoded" }), 415, "VALIDATION_ERROR");
  expectError(await send("{}", { "content-encoding": "gzip" }), 415, "VALIDATION_ERROR");
  expectError(await send(JSON.stringify({ name: "x".repeat(2 * 1024 * 1024) })), 413, "VALIDATION_ERROR");
});

test.each(table.filter(([, { body }]) => body))("%s names each required field that is missing", async (name, entry) => {
  const example = INPUTS[name]?.example(new Proxy({}, { get: () => "1" }) as never).body ?? {};
  const required = fieldsOf(entry.body).filter(({ path: [field = ""], path }) => {
    const { [field]: _left, ...rest } = example;
    return path.length === 1 && field in example && entry.body?.safeParse(rest).success === false;
  });
  for (const {
    path: [field = ""],
  } of required) {
    const { [field]: _left, ...rest } = example;
    const answer = await call(system.url, entry.method.toUpperCase(), somewhere(entry.path), { token: tokenFor(entry.auth), body: rest });
    expectError(answer, 400, "VALIDATION_ERROR", "body");
  }
});

const lists = table.filter(([, entry]) => fieldsOf(entry.query).some(({ path: [field] }) => field === "pageSize"));

test("every list of the contract is in the table with paging", () => {
  expect(lists.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      "get /api/models",
      "get /api/providers",
      "get /api/api-keys",
      "get /api/gw/organizations/list",
      "get /api/gw/teams",
      "get /api/gw/logs",
      "get /api/credits/purchases",
      "get /api/credits/ledger",
      "get /api/admin/users",
      "get /api/admin/audit",
    ]),
  );
});

/** What a list does not answer without. */
const NEEDED: Readonly<Record<string, readonly string[]>> = { "get /api/admin/list-prices": ["kind=openai"] };

test.each(lists)("%s pages as the contract says", async (name, entry) => {
  const path = pathOf(entry.path, { id: entry.path.includes("/alerts/") ? alertId : webhookId });
  const list = (paging: string) =>
    call(system.url, "GET", `${path}?${[...(NEEDED[name] ?? []), paging].join("&")}`, { token: tokenFor(entry.auth) });
  const first = await list("");
  expect(first.status).toBe(200);
  records.expectShape(records.listOf(records.time.or(records.usageLog).or(records.user.partial())), { ...first.body, data: [] });
  expect(first.body.meta).toMatchObject({ page: 1, pageSize: 20 });
  const { total } = first.body.meta;
  expect(first.body.data).toHaveLength(Math.min(20, total));
  expect((await list("page=1&pageSize=100")).body.meta).toMatchObject({
    page: 1,
    pageSize: 100,
    total,
    totalPages: Math.ceil(total / 100),
  });
  const one = await list("pageSize=1");
  expect(one.body.data).toHaveLength(Math.min(1, total));
  expect(one.body.meta).toMatchObject({ pageSize: 1, totalPages: total });
  const past = await list("page=99999&pageSize=100");
  expect(past.status).toBe(200);
  expect(past.body.data).toEqual([]);
  expect(past.body.meta).toMatchObject({ page: 99_999, total });
  expect((await list("page=1000000000")).body).toMatchObject({ data: [], meta: { total } });
  for (const page of ["0", "-1", "abc", "1.5", "", "1e3", "99999999999999999999"]) {
    expectError(await list(`page=${page}`), 400, "VALIDATION_ERROR", "page");
  }
  for (const size of ["0", "101", "abc", "-5", "1.5"]) expectError(await list(`pageSize=${size}`), 400, "VALIDATION_ERROR", "pageSize");
  expectError(await list("page=1&page=2"), 400, "VALIDATION_ERROR", "page");
});

test("paging walks every record exactly once, in a stable order", async () => {
  for (let index = 0; index < 7; index++) {
    const body = { name: `paged ${index}`, team_id: tenant.teamId };
    await call(system.url, "POST", "/api/gw/api-keys", { token: tenant.token, body });
  }
  const pages = await Promise.all(
    [1, 2, 3, 4].map((page) => call(system.url, "GET", `/api/api-keys?page=${page}&pageSize=3`, { token: tenant.token })),
  );
  const all = await call(system.url, "GET", "/api/api-keys?pageSize=100", { token: tenant.token });
  const ids = (answer: Answer) => answer.body.data.map(({ id }: { id: string }) => id);
  expect(pages.flatMap(ids)).toEqual(ids(all));
  expect(new Set(ids(all)).size).toBe(8);
});

describe("Idempotency-Key", () => {
  const create = (key: string, name: string, path = "/api/gw/teams") =>
    call(system.url, "POST", path, { token: tenant.token, body: { name }, headers: { "idempotency-key": key } });
  const teamsCalled = async (name: string) =>
    (await call(system.url, "GET", `/api/gw/teams?search=${encodeURIComponent(name)}`, { token: tenant.token })).body.data.length;

  test("a repetition gets the stored answer with a header that says so, and has no second effect", async () => {
    const first = await create("once", "made once");
    const again = await create("once", "made once");
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await teamsCalled("made once")).toBe(1);
  });

  test("the same key with another body, or at another operation, is 409", async () => {
    await create("clash", "clash one");
    expectError(await create("clash", "clash two"), 409, "VALIDATION_ERROR");
    const elsewhere = await call(system.url, "POST", "/api/credits/purchase", {
      token: tenant.token,
      body: { amount: 1 },
      headers: { "idempotency-key": "clash" },
    });
    expectError(elsewhere, 409, "VALIDATION_ERROR");
    expect(await teamsCalled("clash")).toBe(1);
  });

  test("many at once under one key have one effect and equal answers", async () => {
    const buy = () =>
      call(system.url, "POST", "/api/credits/purchase", {
        token: tenant.token,
        body: { amount: 7_000, method: "test" },
        headers: { "idempotency-key": "parallel" },
      });
    const before = (await call(system.url, "GET", "/api/balance", { token: tenant.token })).body.balance;
    const answers = await Promise.all(Array.from({ length: 10 }, buy));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ body }) => body.purchase.id)).size).toBe(1);
    expect((await call(system.url, "GET", "/api/balance", { token: tenant.token })).body.balance).toBe(before + 7_000);
  });

  test("another person's equal key is another key", async () => {
    const other = await newTenant(system);
    await create("shared", "shared key");
    const answer = await call(system.url, "POST", "/api/gw/teams", {
      token: other.token,
      body: { name: "shared key" },
      headers: { "idempotency-key": "shared" },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("idempotent-replayed")).toBeNull();
    expect(answer.body.team.organizationId).toBe(other.organizationId);
  });

  test("a refused write does not use its key up", async () => {
    expectError(await create("refused", ""), 400, "VALIDATION_ERROR", "body.name");
    expect((await create("refused", "made after a refusal")).status).toBe(201);
  });

  test("a key that is no key is refused", async () => {
    expectError(await create("x".repeat(256), "never made"), 400, "VALIDATION_ERROR", "idempotency-key");
    expectError(await create("with space", "never made"), 400, "VALIDATION_ERROR", "idempotency-key");
    expect(await teamsCalled("never made")).toBe(0);
  });

  test("a new key's secret is replayed to a client that lost the answer, and only one key is made", async () => {
    const make = () =>
      call(system.url, "POST", "/api/gw/api-keys", {
        token: tenant.token,
        body: { name: "lost answer", team_id: tenant.teamId },
        headers: { "idempotency-key": "lost" },
      });
    const [first, again] = [await make(), await make()];
    expect(again.body.key).toBe(first.body.key);
    const listed = await call(system.url, "GET", "/api/api-keys?search=lost answer", { token: tenant.token });
    expect(listed.body.data).toHaveLength(1);
  });

  test("a password change is replayed too, although its current password is no more", async () => {
    const other = await newTenant(system);
    const change = () =>
      call(system.url, "POST", "/api/auth/password", {
        token: other.token,
        body: { currentPassword: other.password, newPassword: "the next password" },
        headers: { "idempotency-key": "change" },
      });
    expect((await change()).status).toBe(200);
    const again = await change();
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  });
});
