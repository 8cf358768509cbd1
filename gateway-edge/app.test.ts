import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Router } from "express";
import { systemClock } from "../common/clock.ts";
import { AppError } from "../common/errors.ts";
import type { CallOptions } from "../common/grpc/client.ts";
import { type Logger, silentLogger } from "../common/logger.ts";
import { systemRandom } from "../common/random.ts";
import { createApp } from "./app.ts";
import { OpenCalls } from "./calls/open-calls.ts";
import { readEdgeConfig } from "./config.ts";
import { type Listener, listen } from "./server/listen.ts";
import { ADMIN_TOKEN, fakeControlPlane, samples, USER_TOKEN } from "./server/platform/control-plane-fixture.ts";
import { gatewayState } from "./server/platform/gateway-state-fixture.ts";
import { createMetrics } from "./server/platform/metrics.ts";
import { createMemoryRecords } from "./stored/records/memory-records-fixture.ts";

const opened: Listener[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((listener) => listener.stop()));
});

type Answers = Parameters<typeof fakeControlPlane>[0];

/** The fields that tests read one by one; the rest is compared as a whole. */
interface ReplyBody {
  code: string;
  error: unknown;
  status: string;
  openapi: string;
  meta: unknown;
  data: { trained: unknown }[];
}

interface Reply {
  status: number;
  headers: Headers;
  text: string;
  body: ReplyBody;
}

async function start(
  answers: Answers,
  { env = {}, logger = silentLogger, ready = true }: { env?: Record<string, string>; logger?: Logger; ready?: boolean } = {},
) {
  const { control, calls } = fakeControlPlane(answers);
  const config = readEdgeConfig(env);
  const metrics = createMetrics({ clock: systemClock, edgeIndex: 0 });
  const app = createApp(
    {
      config,
      control,
      records: createMemoryRecords({ clock: systemClock }),
      clock: systemClock,
      random: systemRandom,
      openCalls: new OpenCalls(),
      logger,
    },
    {
      inferenceRoutes: Router().get("/v1/models", (_request, response) => void response.json({ data: [] })),
      inferenceOperations: [],
      messagesHandler: () => {
        throw new AppError("QUOTA_EXCEEDED", "Buy credits.");
      },
      ready: () => ready,
      isMasterKey: () => false,
      metrics,
      gateway: gatewayState(),
    },
  );
  const listener = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe: metrics.observe });
  opened.push(listener);
  const call = async (
    method: string,
    path: string,
    options: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Reply> => {
    const response = await fetch(`http://127.0.0.1:${listener.port}${path}`, {
      method,
      headers: {
        ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
        ...(options.body === undefined ? {} : { "content-type": "application/json" }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: typeof options.body === "string" ? options.body : JSON.stringify(options.body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true && text !== "";
    return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : {}) as ReplyBody };
  };
  return { call, calls, port: listener.port };
}

const listTeams = () => ({ teams: [samples.team], meta: { page: 1, pageSize: 20, total: 1, totalPages: 1 } });
const createTeam = () => ({ team: samples.team });

describe("authentication", () => {
  test.each([
    ["nothing", undefined],
    ["another scheme", "Basic abc"],
    ["an API key", "Bearer sk-0123456789abcdef"],
    ["two parts", "Bearer a.b"],
    ["a giant", `Bearer a.b.${"c".repeat(4096)}`],
  ])("%s as Authorization is a 401 in the platform's shape", async (_name, authorization) => {
    const { call, calls } = await start({});
    const reply = await call("GET", "/api/auth/me", authorization ? { headers: { authorization } } : {});
    expect(reply.status).toBe(401);
    expect(reply.headers.get("www-authenticate")).toBe("Bearer");
    expect(reply.body).toEqual({ error: expect.any(String), code: "UNAUTHORIZED", requestId: reply.headers.get("x-request-id") });
    expect(calls).toEqual([]);
  });

  test("an Authorization header sent twice is a 401", async () => {
    const { port } = await start({});
    const status = await new Promise((resolve) => {
      const headers = ["authorization", `Bearer ${USER_TOKEN}`, "authorization", `Bearer ${ADMIN_TOKEN}`, "host", "x"];
      httpRequest({ port, host: "127.0.0.1", path: "/api/auth/me", headers }, (response) => resolve(response.resume().statusCode)).end();
    });
    expect(status).toBe(401);
  });

  test("comes before validation: no token, bad token, good token with a bad body", async () => {
    const { call } = await start({});
    expect((await call("POST", "/api/gw/teams", { body: {} })).status).toBe(401);
    expect((await call("POST", "/api/gw/teams", { body: "{not json", token: "bad.token.x" })).status).toBe(401);
    expect((await call("POST", "/api/gw/teams", { body: {}, token: USER_TOKEN })).status).toBe(400);
  });

  test("an admin operation is 403 for a user even when the body is wrong, and when the list is public elsewhere", async () => {
    const { call } = await start({ "catalog.listModels": () => ({ models: [samples.model], meta: samples.meta }) });
    expect((await call("POST", "/api/admin/models", { body: {}, token: USER_TOKEN })).body.code).toBe("FORBIDDEN");
    expect((await call("POST", "/api/admin/models", { body: {}, token: ADMIN_TOKEN })).body.code).toBe("VALIDATION_ERROR");
    expect((await call("GET", "/api/admin/models", { token: USER_TOKEN })).status).toBe(403);
    expect((await call("GET", "/api/admin/models", { token: ADMIN_TOKEN })).status).toBe(200);
    expect((await call("GET", "/api/models")).body.data[0]?.trained).toBeNull();
  });

  test.each([
    ["POST", "/api/admin/guardrails", { name: "slow", kind: "regex", settings: { patterns: ["^(a+)+$"] } }],
    ["PUT", "/api/admin/cache", { enabled: true, type: "redis" }],
  ])("%s %s: an admin is proved before the edge checks the settings", async (method, path, body) => {
    const { call, calls } = await start({});
    expect((await call(method, path, { body, token: "a.b.c" })).body.code).toBe("UNAUTHORIZED");
    expect((await call(method, path, { body, token: USER_TOKEN })).body.code).toBe("FORBIDDEN");
    expect((await call(method, path, { body, token: ADMIN_TOKEN })).body.code).toBe("VALIDATION_ERROR");
    expect(calls.map((sent) => sent.method)).toEqual(["identity.getMe", "identity.getMe", "identity.getMe"]);
  });

  test("the token, the request id, the caller's address and user agent reach the control plane", async () => {
    const { call, calls } = await start({ "teams.listTeams": listTeams });
    const headers = { authorization: `bEARER ${USER_TOKEN}`, "x-request-id": "trace-1", "user-agent": "Br\u00f6wser/1" };
    await call("GET", "/api/gw/teams", { headers });
    expect(calls[0]?.options.metadata).toEqual({
      authorization: USER_TOKEN,
      "x-request-id": "trace-1",
      "x-client-ip": "127.0.0.1",
      "x-user-agent": "Br?wser/1",
    });
    expect(calls[0]?.options.deadlineMs).toBe(5000);
  });

  test("messages fail in the platform's shape, and take POST only", async () => {
    const { call } = await start({});
    const reply = await call("POST", "/api/gw/messages", { body: {}, token: USER_TOKEN });
    expect([reply.status, reply.body.code]).toEqual([402, "QUOTA_EXCEEDED"]);
    expect((await call("GET", "/api/gw/messages")).headers.get("allow")).toBe("POST, OPTIONS");
  });
});

describe("validation", () => {
  test.each(["page=0", "page=-1", "page=x", "page=1.5", "page=", "pageSize=0", "pageSize=101", "page_size=101", "page=1&page=2"])(
    "?%s is a 400 that names the field",
    async (query) => {
      const { call } = await start({ "teams.listTeams": listTeams });
      const reply = await call("GET", `/api/gw/teams?${query}`, { token: USER_TOKEN });
      expect(reply.status).toBe(400);
      expect(reply.body).toMatchObject({ code: "VALIDATION_ERROR", details: [{ path: expect.stringMatching(/^query\.page/) }] });
    },
  );

  test("page sizes at the limit pass, unknown parameters are ignored, snake_case is understood", async () => {
    const { call, calls } = await start({ "teams.listTeams": listTeams });
    expect((await call("GET", "/api/gw/teams?page=3&page_size=100&x=1", { token: USER_TOKEN })).status).toBe(200);
    expect(calls[0]?.request).toMatchObject({ page: { page: 3, pageSize: 100 } });
  });

  test.each([
    ["an operator object", { name: { $ne: null } }],
    ["a number", { name: 5 }],
    ["nothing but spaces", { name: "   " }],
    ["a control character", { name: "a\u0000b" }],
    ["101 characters", { name: "x".repeat(101) }],
    ["an array", []],
    ["null", "null"],
    ["a prototype", '{"name":"a","__proto__":{"role":"admin"}}'],
    ["a constructor's prototype", '{"name":"a","constructor":{"prototype":{"role":"admin"}}}'],
    ["broken JSON", '{"name":'],
  ])("%s as a team is a 400", async (_name, body) => {
    const { call, calls } = await start({ "teams.createTeam": createTeam });
    const reply = await call("POST", "/api/gw/teams", { token: USER_TOKEN, body });
    expect([reply.status, reply.body.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(calls.map(({ method }) => method)).toEqual(["identity.getMe"]);
  });

  test("undeclared fields never reach the control plane", async () => {
    const { call, calls } = await start({ "identity.updateUser": () => ({ user: samples.user }) });
    const body = { name: "N", id: 1, balance: 9, organizationId: "org_2" };
    expect((await call("PATCH", "/api/admin/users/7", { token: ADMIN_TOKEN, body })).status).toBe(200);
    expect(calls[0]?.request).toEqual({ name: "N", id: 7n });
  });

  test("a key may be made with team_id or teamId; limits and money arrive typed", async () => {
    const { call, calls } = await start({ "keys.createKey": () => ({ apiKey: samples.apiKey, key: "sk-x" }) });
    for (const team of [{ team_id: "team_1" }, { teamId: "team_1" }]) {
      const reply = await call("POST", "/api/gw/api-keys", { token: USER_TOKEN, body: { name: "K", maxBudget: 5, rpm: null, ...team } });
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({
        key: "sk-x",
        apiKey: { team_id: "team_1", teamId: "team_1", maxBudget: 2_000_000_000, rpm: null },
      });
    }
    for (const { request } of calls) expect(request).toMatchObject({ teamId: "team_1", limits: { maxBudget: 5n } });
  });

  test.each([
    [{ amount: 5 }, 5n],
    [{ amountUsd: "1.000000001" }, 1_000_000_001n],
    [{ amountUsd: 2.5 }, 2_500_000_000n],
  ])("a purchase of %p", async (body, amount) => {
    const { call, calls } = await start({ "ledger.createPurchase": () => ({ purchase: samples.purchase, balance: 7n }) });
    const reply = await call("POST", "/api/credits/purchase", { token: USER_TOKEN, body });
    expect(reply.body).toMatchObject({ purchase: { amount: 5, amountUsd: "0.000000005" }, balance: 7, balanceUsd: "0.000000007" });
    expect(calls[0]?.request).toEqual({ amount, method: "" });
  });

  test.each([
    {},
    { amount: 1, amountUsd: 1 },
    { amount: 0 },
    { amount: -1 },
    { amount: 1.5 },
    { amount: "5" },
    { amountUsd: "1e3" },
    { amountUsd: 0 },
    { amountUsd: "1.0000000001" },
    { amount: 1e16 },
  ])("a purchase of %p is refused", async (body) => {
    const { call } = await start({});
    expect((await call("POST", "/api/credits/purchase", { token: USER_TOKEN, body })).status).toBe(400);
  });

  test("bodies have a size, a type and an encoding", async () => {
    const { call } = await start({ "teams.createTeam": createTeam });
    const token = USER_TOKEN;
    expect((await call("POST", "/api/gw/teams", { token, body: { name: "x".repeat(1024 * 1024) } })).status).toBe(413);
    expect((await call("POST", "/api/gw/teams", { token, body: "name=x", headers: { "content-type": "text/plain" } })).status).toBe(415);
  });

  test("dates and zones of logs", async () => {
    const { call, calls } = await start({
      "usage.listLogs": () => ({
        logs: [samples.log],
        meta: samples.meta,
        nextCursor: "c2",
        totals: { requests: 1n, tokens: 3n, cost: 4n },
      }),
    });
    for (const query of [
      "startDate=soon",
      "tz=Mars/X",
      "startDate=2026-02-02&endDate=2026-02-01",
      "status=odd",
      "format=xml",
      "trace_id=xyz",
      "sort=cost",
      "sort=-cost&format=csv",
    ]) {
      expect((await call("GET", `/api/gw/logs?${query}`, { token: USER_TOKEN })).status).toBe(400);
    }
    calls.length = 0;
    const reply = await call("GET", "/api/gw/logs?startDate=2026-03-29&endDate=2026-03-29&tz=Europe/Berlin&teamId=team_1", {
      token: USER_TOKEN,
    });
    expect(reply.body.meta).toMatchObject({ nextCursor: "c2", totals: { requests: 1, cost: 4, costUsd: "0.000000004" } });
    expect(calls[0]?.request).toMatchObject({
      filter: { start: new Date("2026-03-28T23:00:00Z"), end: new Date("2026-03-29T22:00:00Z"), teamId: "team_1" },
    });
    await call("GET", `/api/gw/logs?tag=a&session=s-1&sort=-cost&trace_id=${"AB".repeat(16)}`, { token: USER_TOKEN });
    expect(calls[1]?.request).toMatchObject({ sort: "cost", filter: { tags: ["a", "session:s-1", `trace:${"ab".repeat(16)}`] } });
  });
});

describe("errors", () => {
  test.each([
    ["ALREADY_EXISTS", 409, "VALIDATION_ERROR", null],
    ["IDEMPOTENCY_CONFLICT", 409, "VALIDATION_ERROR", null],
    ["NOT_FOUND", 404, "NOT_FOUND", null],
    ["TEAM_BLOCKED", 403, "TEAM_BLOCKED", null],
    ["LOGIN_THROTTLED", 429, "UNAUTHORIZED", "7"],
    ["DB_TIMEOUT", 504, "DB_TIMEOUT", "7"],
    ["UNAVAILABLE", 504, "DB_TIMEOUT", "7"],
  ] as const)("%s of the control plane is %d %s", async (code, status, reportedCode, retryAfter) => {
    const retryAfterSeconds = retryAfter === null ? undefined : 6.5;
    const refuse = () => {
      throw new AppError(code, "Refused.", { retryAfterSeconds });
    };
    const { call } = await start({ "teams.createTeam": refuse });
    const reply = await call("POST", "/api/gw/teams", { token: USER_TOKEN, body: { name: "x" } });
    expect([reply.status, reply.body.code, reply.body.error, reply.headers.get("retry-after")]).toEqual([
      status,
      reportedCode,
      "Refused.",
      retryAfter,
    ]);
  });

  test("an unexpected error is a 500 whose text is in the log only", async () => {
    const logged: string[] = [];
    const logger = { ...silentLogger, error: (fields: object) => void logged.push(JSON.stringify(fields)) };
    const { call } = await start({ "teams.listTeams": () => Promise.reject(new Error("driver: secret host")) }, { logger });
    const reply = await call("GET", "/api/gw/teams", { token: USER_TOKEN });
    expect([reply.status, reply.body.code]).toEqual([500, "SERVER_ERROR"]);
    expect(reply.text).not.toContain("secret host");
    expect(logged.join()).toContain("secret host");
  });

  test("unknown paths: the platform's shape under /api, the gateway's elsewhere; a broken path is a 400", async () => {
    const { call } = await start({});
    expect((await call("GET", "/api/nothing")).body).toMatchObject({ code: "NOT_FOUND", error: expect.any(String) });
    expect((await call("GET", "/nothing")).body).toMatchObject({ error: { type: "not_found_error" } });
    expect((await call("GET", "/api/gw/teams/%zz", { token: USER_TOKEN })).status).toBe(400);
  });

  test("another method on a known path is a 405 that names the right ones; OPTIONS tells them too", async () => {
    const { call } = await start({});
    const reply = await call("DELETE", "/api/gw/teams");
    expect([reply.status, reply.body.code, reply.headers.get("allow")]).toEqual([405, "VALIDATION_ERROR", "GET, POST, HEAD, OPTIONS"]);
    expect((await call("OPTIONS", "/api/balance")).status).toBe(204);
  });

  test("an absolute request target is refused, and nonsense does not end the server", async () => {
    const { port, call } = await start({});
    const raw = (text: string) =>
      new Promise<string>((resolve) => {
        let answer = "";
        connect(port, "127.0.0.1")
          .on("data", (data) => (answer += String(data)))
          .on("close", () => resolve(answer))
          .end(text);
      });
    expect(await raw("GET http://evil/api/models HTTP/1.1\r\nhost: evil\r\n\r\n")).toMatch(/^HTTP\/1.1 400/);
    expect(await raw("nonsense\r\n\r\n")).toMatch(/^HTTP\/1.1 400/);
    await raw("POST /api/auth/token HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{");
    expect((await call("GET", "/health/liveness")).status).toBe(200);
  });
});

describe("idempotency", () => {
  const replayed = (_request: unknown, { onHeader, metadata }: CallOptions) => {
    if (metadata?.["idempotency-key"]) onHeader?.({ "idempotent-replayed": "true" });
    return { team: samples.team };
  };

  test("the key and a hash of the request are passed on, and a replay says so", async () => {
    const { call, calls } = await start({ "teams.createTeam": replayed });
    const send = (body: unknown, key: string) =>
      call("POST", "/api/gw/teams", { token: USER_TOKEN, body, headers: { "idempotency-key": key } });
    expect((await send({ name: "x", a: 1 }, "k1")).headers.get("idempotent-replayed")).toBe("true");
    await send({ a: 1, name: "x" }, "k1");
    await send({ name: "y" }, "k1");
    const hashes = calls.map(({ options }) => options.metadata?.["idempotency-hash"]);
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(hashes[1]).toBe(hashes[0]);
    expect(hashes[2]).not.toBe(hashes[0]);
    expect((await send({ name: "x" }, "k".repeat(256))).status).toBe(400);
    expect((await send({ name: "x" }, "a b")).status).toBe(400);
  });

  test("without a key nothing is passed on; with one it is on every write, a log-in too", async () => {
    const session = () => ({ token: "t", expiresAt: new Date(0) });
    const { call, calls } = await start({ "teams.createTeam": replayed, "identity.createToken": session });
    const created = await call("POST", "/api/gw/teams", { token: USER_TOKEN, body: { name: "x" } });
    expect([created.status, created.headers.get("idempotent-replayed")]).toEqual([201, null]);
    const login = await call("POST", "/api/auth/token", { body: { email: " A@B.c ", password: "p" }, headers: { "idempotency-key": "k" } });
    expect(login.body).toEqual({ token: "t", expiresAt: "1970-01-01T00:00:00.000Z" });
    expect(calls[1]?.request).toEqual({ email: "a@b.c", password: "p" });
    expect(calls.map(({ options }) => options.metadata?.["idempotency-key"])).toEqual([undefined, "k"]);
  });
});

describe("exports, documents and health", () => {
  test("CSV is sent page by page; an error before the first page is still a status", async () => {
    let page = 0;
    const { call } = await start({ "usage.listLogs": () => ({ logs: [samples.log], nextCursor: ++page < 3 ? `c${page}` : undefined }) });
    const reply = await call("GET", "/api/gw/logs?format=csv", { token: USER_TOKEN });
    expect(reply.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(reply.headers.get("content-disposition")).toContain("attachment");
    expect(reply.text.trim().split("\r\n")).toHaveLength(4);
    const failing = await start({});
    expect((await failing.call("GET", "/api/gw/logs?format=csv", { token: USER_TOKEN })).status).toBe(500);
  });

  test("responses have the headers a browser needs and no others", async () => {
    const { call } = await start({ "catalog.listProviders": () => ({ providers: [], meta: samples.meta }) });
    const { headers } = await call("GET", "/api/providers", { headers: { origin: "https://evil.example" } });
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    for (const absent of ["x-powered-by", "etag", "access-control-allow-origin", "strict-transport-security"])
      expect(headers.get(absent)).toBeNull();
  });

  test("only listed origins are allowed", async () => {
    const { call } = await start({}, { env: { CORS_ORIGINS: "https://a.example" } });
    const preflight = (origin: string) => call("OPTIONS", "/api/models", { headers: { origin, "access-control-request-method": "GET" } });
    const allowed = await preflight("https://a.example");
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([204, "https://a.example"]);
    expect((await preflight("https://b.example")).headers.get("access-control-allow-origin")).toBeNull();
  });

  test("official clients can call from a listed origin: their headers are allowed, and those of answers can be read", async () => {
    const { call } = await start({}, { env: { CORS_ORIGINS: "https://a.example" } });
    const origin = { origin: "https://a.example" };
    const preflight = async (asked: string) =>
      (
        await call("OPTIONS", "/v1/models", {
          headers: { ...origin, "access-control-request-method": "GET", "access-control-request-headers": asked },
        })
      ).headers.get("access-control-allow-headers");
    const asked = "authorization,content-type,x-stainless-arch,x-stainless-retry-count,anthropic-version,openai-beta";
    expect(await preflight(asked)).toBe(asked);
    expect(await preflight("a b")).toContain("authorization");
    const exposed = (await call("GET", "/v1/models", { headers: origin })).headers.get("access-control-expose-headers");
    for (const name of ["x-request-id", "x-ratelimit-remaining-tokens", "x-should-retry", "x-gw-response-cost"])
      expect(exposed).toContain(name);
  });

  test("the API document and its page are served", async () => {
    const { call } = await start({});
    expect((await call("GET", "/openapi.json")).body.openapi).toBe("3.1.0");
    const page = await call("GET", "/docs");
    expect(page.headers.get("content-security-policy")).toContain("style-src");
    expect(page.text).toContain("/api/credits/purchase");
  });

  test("health: alive, ready or not, details for admins, figures for this machine", async () => {
    const { call } = await start({}, { ready: false });
    for (const path of ["/health/liveliness", "/health/liveness"]) expect((await call("GET", path)).status).toBe(200);
    expect((await call("GET", "/health/readiness")).status).toBe(503);
    expect((await call("GET", "/health")).status).toBe(401);
    expect((await call("GET", "/health", { token: USER_TOKEN })).status).toBe(403);
    expect((await call("GET", "/health", { token: ADMIN_TOKEN })).body.status).toBe("not ready");
    expect((await call("GET", "/metrics", { headers: { "x-forwarded-for": "8.8.8.8" } })).status).toBe(401);
    for (const path of ["/health", "/health/liveness", "/health/readiness", "/metrics"]) {
      const { headers } = await call("GET", path, { token: ADMIN_TOKEN });
      expect([path, headers.get("x-gw-call-id")]).toEqual([path, headers.get("x-request-id")]);
      expect(headers.get("x-request-id")).toMatch(/^req_/);
    }
    await call("GET", "/api/gw/teams/team_77");
    const figures = (await call("GET", "/metrics")).text;
    expect(figures).toContain('route="/api/gw/teams/:id"');
    expect(figures).not.toContain("team_77");
  });
});
