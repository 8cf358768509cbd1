import { type Answer, adminToken, call, chat, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";
import { expectError, expectGatewayError, type RawAnswer, rawHeader, rawRequest, within } from "./support.ts";

let system: System;
let tenant: Tenant;
let other: Tenant;
let admin: string;
let removedKey: string;
let expiredKey: string;

beforeAll(async () => {
  system = await startSystem({ env: { JSON_BODY_BYTES_MAX: "200000" } });
  tenant = await newTenant(system, { creditNano: 1_000_000_000 });
  other = await newTenant(system, { creditNano: 1_000_000_000 });
  admin = await adminToken(system);
  removedKey = (await makeKey()).key;
  await call(system.url, "POST", "/api/api-keys/remove", { token: tenant.token, body: { apiKey: removedKey } });
  expiredKey = (await makeKey({ expiresAt: "2001-01-01T00:00:00Z" })).key;
});
afterAll(() => system.stop());

const makeKey = async (more: object = {}, owner: Tenant = tenant): Promise<{ key: string; id: string }> => {
  const body = { name: "k", team_id: owner.teamId, ...more };
  const made = await call(system.url, "POST", "/api/gw/api-keys", { token: owner.token, body });
  return { key: made.body.key, id: made.body.apiKey.id };
};
const MESSAGE = { model: "echo", messages: [{ role: "user", content: "hello there" }] };
const CHAT_PATHS = [
  "/chat/completions",
  "/v1/chat/completions",
  "/engines/echo/chat/completions",
  "/openai/deployments/echo/chat/completions",
];
const INFERENCE: [string, string][] = [
  ...CHAT_PATHS.map((path): [string, string] => ["POST", path]),
  ["GET", "/models"],
  ["GET", "/v1/models"],
  ["GET", "/models/echo"],
  ["GET", "/v1/models/echo"],
];
const ask = (url: string, method: string, path: string, headers: Record<string, string>) =>
  call(url, method, path, { headers, ...(method === "POST" ? { body: MESSAGE } : {}) });
const refused = (answer: Answer) => expectGatewayError(answer, 401, "authentication_error", "invalid_api_key");

describe.each(INFERENCE)("%s %s", (method, path) => {
  test("takes a key in each of the four credential headers with the gateway profile, and in any case of the scheme", async () => {
    const { key } = tenant;
    const credentialHeaders = [
      { "x-gw-api-key": key },
      { authorization: `Bearer ${key}` },
      { authorization: `bearer ${key}` },
      { "x-api-key": key },
      { "api-key": key },
    ];
    for (const headers of credentialHeaders) {
      const answer = await ask(system.url, method, path, headers as Record<string, string>);
      expect([headers, answer.status]).toEqual([headers, 200]);
      expect(answer.headers.get("x-request-id")).toBeTruthy();
      expect(answer.headers.get("x-gw-call-id")).toMatch(/^call_/);
    }
    expect((await ask(system.url, method, path, { "x-gw-api-key": MASTER_KEY })).status).toBe(200);
    expect((await ask(system.url, method, path, { authorization: `Bearer ${MASTER_KEY}` })).status).toBe(200);
  });

  test("takes it only in x-gw-api-key with the hosted profile, and says so", async () => {
    const { key } = tenant;
    expect((await ask(system.hostedUrl, method, path, { "x-gw-api-key": key })).status).toBe(200);
    for (const headers of [{ authorization: `Bearer ${key}` }, { "x-api-key": key }, { "api-key": key }]) {
      const answer = await ask(system.hostedUrl, method, path, headers as Record<string, string>);
      refused(answer);
      expect(answer.body.error.message).toContain("x-gw-api-key");
    }
  });

  test("answers the same 401 to keys that are missing, ill-formed, unknown, removed, expired, or a platform token", async () => {
    const flipped = tenant.key.slice(0, -1) + (tenant.key.endsWith("0") ? "1" : "0");
    const bad = [
      "",
      "sk-",
      "sk-short",
      flipped,
      tenant.key.toLowerCase(),
      `${tenant.key} `.trim().slice(3),
      removedKey,
      expiredKey,
      "sk-canary-master-key-of-the-test",
      tenant.token,
    ];
    for (const url of [system.url, system.hostedUrl]) {
      const missing = await ask(url, method, path, {});
      refused(missing);
      for (const key of bad) {
        for (const headers of [{ "x-gw-api-key": key }, { authorization: `Bearer ${key}` }]) {
          const answer = await ask(url, method, path, headers as Record<string, string>);
          refused(answer);
          expect(answer.body).toEqual(missing.body);
        }
      }
    }
  });

  test("the same credential header twice is 400, even with the same key", async () => {
    const { key } = tenant;
    const lines: [string, string][][] = [
      [
        ["x-gw-api-key", key],
        ["x-gw-api-key", key],
      ],
      [
        ["X-GW-API-KEY", key],
        ["x-gw-api-key", other.key],
      ],
      [
        ["authorization", `Bearer ${key}`],
        ["Authorization", `Bearer ${key}`],
      ],
      [
        ["x-api-key", key],
        ["x-api-key", key],
      ],
    ];
    for (const headers of lines) {
      const answer: RawAnswer = await rawRequest(system.url, method, path, headers, method === "POST" ? JSON.stringify(MESSAGE) : "");
      expect([headers[0]?.[0], answer.status]).toEqual([headers[0]?.[0], 400]);
      expect(rawHeader(answer, "x-request-id")).toBeTruthy();
      expect(rawHeader(answer, "x-gw-call-id")).toBeTruthy();
      expect(answer.text).toContain('"type":"invalid_request_error"');
    }
  });

  test("two credential headers must agree; only a Bearer without the shape of a key is ignored beside x-gw-api-key", async () => {
    const { key } = tenant;
    const status = async (headers: Record<string, string>) => (await ask(system.url, method, path, headers)).status;
    expect(await status({ "x-gw-api-key": key, authorization: `Bearer ${key}` })).toBe(200);
    expect(await status({ "x-gw-api-key": key, authorization: "Bearer anything" })).toBe(200);
    expect(await status({ "x-gw-api-key": key, authorization: `Bearer ${tenant.token}` })).toBe(200);
    expect(await status({ "x-gw-api-key": key, authorization: `Bearer ${other.key}` })).toBe(401);
    expect(await status({ "x-gw-api-key": "nonsense", authorization: `Bearer ${key}` })).toBe(401);
    expect(await status({ "x-gw-api-key": key, "x-api-key": other.key })).toBe(401);
    expect(await status({ authorization: `Bearer ${key}`, "api-key": other.key })).toBe(401);
  });

  test("a key in the URL, a cookie or the body is not read", async () => {
    for (const url of [system.url, system.hostedUrl]) {
      for (const name of ["api_key", "apiKey", "key", "x-gw-api-key", "authorization"]) {
        refused(await ask(url, method, `${path}?${name}=${tenant.key}`, {}));
      }
      refused(await ask(url, method, path, { cookie: `x-gw-api-key=${tenant.key}; token=${tenant.token}; api_key=${tenant.key}` }));
      if (method === "POST") refused(await call(url, method, path, { body: { ...MESSAGE, apiKey: tenant.key, api_key: tenant.key } }));
      refused(await ask(url, method, path, { authorization: `Basic ${Buffer.from(`x:${tenant.key}`).toString("base64")}` }));
    }
  });
});

describe("errors of chat completions", () => {
  const send = (body: unknown, headers: Record<string, string> = {}, path = "/v1/chat/completions") =>
    call(system.url, "POST", path, { key: tenant.key, body, headers });

  test.each(CHAT_PATHS)("%s: bad JSON is 400 invalid_json, a wrong type 415, too much 413", async (path) => {
    expectGatewayError(await send("{broken", {}, path), 400, "invalid_request_error", "invalid_json");
    expectGatewayError(await send("", {}, path), 400, "invalid_request_error", "invalid_json");
    expectGatewayError(await send(`${"[".repeat(100_000)}`, {}, path), 400, "invalid_request_error", "invalid_json");
    const typed = await send("x", { "content-type": "text/plain" }, path);
    expect([typed.status, typed.body.error.type]).toEqual([415, "invalid_request_error"]);
    const large = await send({ ...MESSAGE, messages: [{ role: "user", content: "x".repeat(300_000) }] }, {}, path);
    expect([large.status, large.body.error.type]).toEqual([413, "invalid_request_error"]);
    for (const answer of [typed, large]) expect(answer.headers.get("x-gw-call-id")).toMatch(/^call_/);
  });

  test("a body whose bytes are not UTF-8 is bad JSON, here and in the platform API", async () => {
    const post = async (path: string, secret: string, text: string) => {
      const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
      const answer = await fetch(system.url + path, { method: "POST", headers, body: Buffer.from(text, "latin1") });
      return { status: answer.status, body: await answer.json() };
    };
    const called = await post("/v1/chat/completions", tenant.key, '{"model":"echo","messages":[{"role":"user","content":"\xff\xfe"}]}');
    expect(called).toMatchObject({ status: 400, body: { error: { type: "invalid_request_error", code: "invalid_json" } } });
    const made = await post("/api/gw/teams", tenant.token, '{"name":"\xff\xfe"}');
    expect(made).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR", error: expect.stringContaining("UTF-8") } });
  });

  test("a body that is no request is 422 in both readers' shapes, with every fault", async () => {
    const cases: [unknown, (string | number)[]][] = [
      [{ model: "echo" }, ["body", "messages"]],
      [{ messages: MESSAGE.messages }, ["body", "model"]],
      [{ ...MESSAGE, messages: [] }, ["body", "messages"]],
      [{ ...MESSAGE, messages: [{ role: "king", content: "x" }] }, ["body", "messages", 0, "role"]],
      [{ ...MESSAGE, messages: [{ role: "user", content: 7 }] }, ["body", "messages", 0, "content"]],
      [{ ...MESSAGE, temperature: 9 }, ["body", "temperature"]],
      [{ ...MESSAGE, max_tokens: 0 }, ["body", "max_tokens"]],
      [{ ...MESSAGE, n: 1.5 }, ["body", "n"]],
      [{ ...MESSAGE, stream: "yes" }, ["body", "stream"]],
      [[], ["body"]],
      ["7", ["body"]],
    ];
    for (const [body, loc] of cases) {
      const answer = await send(body);
      expectGatewayError(answer, 422, "unprocessable_entity_error", null);
      expect(answer.body.detail).toContainEqual({ loc, msg: expect.any(String), type: expect.any(String) });
    }
  });

  test("an unknown model is 404, also when the path names it; the path wins over the body", async () => {
    expectGatewayError(await send({ ...MESSAGE, model: "nothing" }), 404, "not_found_error", "model_not_found");
    expectGatewayError(await send(MESSAGE, {}, "/engines/nothing/chat/completions"), 404, "not_found_error", "model_not_found");
    expect((await send({ ...MESSAGE, model: "nothing" }, {}, "/engines/echo/chat/completions")).body.model).toBe("echo");
    const { model: _left, ...noModel } = MESSAGE;
    expect((await send(noModel, {}, "/openai/deployments/echo/chat/completions")).status).toBe(200);
  });

  test("a model the key may not use is 403: by body, by path, and as a fallback that the client names", async () => {
    await call(system.url, "POST", "/api/admin/models", {
      token: admin,
      body: { name: "second", provider: "echo", inferenceModelId: "echo" },
    });
    const { key } = await makeKey({ models: ["second"] });
    await within(
      1000,
      () => chat(system, key, "x", { model: "second" }),
      ({ status }) => status === 200,
    );
    const use = (body: object, path = "/v1/chat/completions") => call(system.url, "POST", path, { key, body: { ...MESSAGE, ...body } });
    const denied = (answer: Answer) => expectGatewayError(answer, 403, "permission_denied_error", "model_not_allowed");
    denied(await use({}));
    for (const path of CHAT_PATHS.slice(2)) denied(await use({ model: "second" }, path));
    denied(await use({ model: "second", fallbacks: ["echo"] }));
    denied(await use({ model: "second", context_window_fallback_dict: { second: "echo" } }));
  });

  test("where a call goes is not the client's to say", async () => {
    for (const field of ["api_base", "api_key", "api_version", "api_type", "custom_llm_provider"]) {
      expectGatewayError(await send({ ...MESSAGE, [field]: "x" }), 400, "invalid_request_error", "unsupported_parameter");
    }
  });

  test("a rate limit is 429 with retry-after and x-ratelimit-*, and the answers before it count down", async () => {
    const { key } = await makeKey({ rpm: 2 });
    const answers = [await chat(system, key, "1"), await chat(system, key, "2"), await chat(system, key, "3")];
    expect(
      answers.map(({ headers }) => [headers.get("x-ratelimit-limit-requests"), headers.get("x-ratelimit-remaining-requests")]),
    ).toEqual([
      ["2", "1"],
      ["2", "0"],
      ["2", "0"],
    ]);
    const [, , over] = answers as [Answer, Answer, Answer];
    expectGatewayError(over, 429, "rate_limit_error", "rate_limit_exceeded");
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(over.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(over.headers.get("x-ratelimit-reset-requests")).toMatch(/^\d+(ms|s)$/);
    expect(over.headers.get("x-should-retry")).not.toBe("false");
    const tokens = await makeKey({ tpm: 3 });
    expect((await chat(system, tokens.key, "one two three")).status).toBe(200);
    const overTokens = await chat(system, tokens.key, "one two three");
    expectGatewayError(overTokens, 429, "rate_limit_error", "rate_limit_exceeded");
    expect(overTokens.headers.get("x-ratelimit-limit-tokens")).toBe("3");
    expect((await chat(system, tenant.key, "another key is free")).status).toBe(200);
  });

  test("without credit it is 429 QUOTA_EXCEEDED and not to be retried; a team's block is reported first", async () => {
    const poor = await newTenant(system);
    const answer = await chat(system, poor.key, "please");
    expectGatewayError(answer, 429, "insufficient_quota", "QUOTA_EXCEEDED");
    expect(answer.headers.get("x-should-retry")).toBe("false");
    const { key } = await makeKey({ maxBudget: 1 });
    await chat(system, key, "uses the budget up");
    expectGatewayError(await chat(system, key, "over budget"), 429, "insufficient_quota", "QUOTA_EXCEEDED");
    await call(system.url, "POST", `/api/admin/teams/${poor.teamId}/block`, { token: admin, body: {} });
    const blocked = await within(
      1000,
      () => chat(system, poor.key, "x"),
      ({ status }) => status === 403,
    );
    expectGatewayError(blocked, 403, "permission_denied_error", "TEAM_BLOCKED");
  });

  test("other methods are 405 with Allow, other paths 404, each in the gateway's shape with both ids", async () => {
    for (const [method, path, allow] of [
      ["GET", "/v1/chat/completions", "POST"],
      ["POST", "/models", "GET"],
      ["DELETE", "/models/echo", "GET"],
    ] as const) {
      const answer = await call(system.url, method, path, { key: tenant.key });
      expect([answer.status, answer.body.error.type]).toEqual([405, "invalid_request_error"]);
      expect(answer.headers.get("allow")).toContain(allow);
      expect(answer.headers.get("x-gw-call-id")).toBeTruthy();
    }
    expectGatewayError(await call(system.url, "POST", "/v1/nothing", { key: tenant.key, body: {} }), 404, "not_found_error", null);
  });
});

describe("models", () => {
  test("the list has the real provider and time, in a stable order, without duplicates; one is found by its name", async () => {
    await call(system.url, "POST", "/api/admin/models", {
      token: admin,
      body: { name: "vendor/name", provider: "echo", inferenceModelId: "echo" },
    });
    const list = () => call(system.url, "GET", "/v1/models", { key: tenant.key });
    const { body } = await within(1000, list, (answer) => answer.text.includes("vendor/name"));
    expect(Object.keys(body).sort()).toEqual(["data", "object"]);
    const names = body.data.map(({ id }: { id: string }) => id);
    expect(new Set(names).size).toBe(names.length);
    expect((await list()).body).toEqual(body);
    const entry = body.data.find(({ id }: { id: string }) => id === "vendor/name");
    expect(entry).toEqual({ id: "vendor/name", object: "model", created: expect.any(Number), owned_by: "echo" });
    expect(Math.abs(Date.now() / 1000 - entry.created)).toBeLessThan(600);
    for (const path of ["/models/vendor/name", "/v1/models/vendor/name", "/models/vendor%2Fname", "/v1/models/vendor%2Fname"]) {
      const one = await call(system.url, "GET", path, { key: tenant.key });
      expect([path, one.status, one.body]).toEqual([path, 200, entry]);
    }
    expectGatewayError(await call(system.url, "GET", "/models/nothing", { key: tenant.key }), 404, "not_found_error", "model_not_found");
  });

  test("a key sees what it may use and nothing else", async () => {
    const { key } = await makeKey({ models: ["echo"] });
    const { body } = await call(system.url, "GET", "/models", { key });
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(["echo"]);
    expectGatewayError(await call(system.url, "GET", "/models/vendor/name", { key }), 404, "not_found_error", "model_not_found");
  });

  test("a scope other than expand is 400 in both shapes; expand from a plain caller gives the normal list", async () => {
    const answer = await call(system.url, "GET", "/models?scope=everything", { key: tenant.key });
    expectGatewayError(answer, 400, "invalid_request_error", null);
    expect(answer.body.detail).toBeDefined();
    const member = await newTenant(system);
    await joinTeam(system, { from: tenant, guest: member, teamId: tenant.teamId });
    const body = { name: "member's", team_id: tenant.teamId, models: ["echo"] };
    const made = await call(system.url, "POST", "/api/gw/api-keys", { token: member.token, body });
    const names = async (key: string) =>
      (await call(system.url, "GET", "/models?scope=expand", { key })).body.data.map(({ id }: { id: string }) => id);
    expect(await names(made.body.key)).toEqual(["echo"]);
    const { key } = await makeKey({ models: ["echo"] });
    expect(await names(key)).toEqual(expect.arrayContaining(["echo", "vendor/name"]));
  });
});

describe("Idempotency-Key on a priced call", () => {
  const say = (key: string, content: string, more: object = {}, idempotencyKey = "same") =>
    call(system.url, "POST", "/v1/chat/completions", {
      key,
      body: { ...MESSAGE, messages: [{ role: "user", content }], ...more },
      headers: { "idempotency-key": idempotencyKey },
    });
  const countOf = async (keyId: string) =>
    (await call(system.url, "GET", `/api/gw/logs?apiKey=${keyId}`, { token: tenant.token })).body.meta.totals.requests;

  test.each([{}, { stream: true }, { stream: true, stream_options: { include_usage: true } }])(
    "%p is answered once, billed once and replayed byte for byte",
    async (more) => {
      const { key, id } = await makeKey();
      const first = await say(key, "only once", more);
      const again = await say(key, "only once", more);
      expect([first.status, again.status, first.headers.get("idempotent-replayed"), again.headers.get("idempotent-replayed")]).toEqual([
        200,
        200,
        null,
        "true",
      ]);
      expect(again.text).toBe(first.text);
      expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
      expect(await countOf(id)).toBe(1);
    },
  );

  test.each([false, true])("an answer of 1.3 MB is replayed byte for byte, and is no file (streamed: %p)", async (stream) => {
    const rich = await newTenant(system, { creditNano: 10_000_000_000 });
    const { key, id } = await makeKey({}, rich);
    const first = await say(key, "x".repeat(20_000), { n: 64, stream });
    const again = await say(key, "x".repeat(20_000), { n: 64, stream });
    expect(first.text.length).toBeGreaterThan(1.2 * 1024 * 1024);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.text === first.text).toBe(true);
    const { meta } = (await call(system.url, "GET", `/api/gw/logs?apiKey=${id}`, { token: rich.token })).body;
    expect(meta.totals.requests).toBe(1);
    expect((await call(system.url, "GET", "/v1/files", { key })).body.data).toEqual([]);
  });

  test("another body is 409, another API key is another call, a refusal uses nothing up", async () => {
    const { key, id } = await makeKey();
    await say(key, "first");
    const clash = await say(key, "second");
    expect([clash.status, clash.body.error.type]).toEqual([409, "invalid_request_error"]);
    expect((await say(other.key, "second")).headers.get("idempotent-replayed")).toBeNull();
    expect((await say(key, "x", { model: "nothing" }, "fresh")).status).toBe(404);
    expect((await say(key, "x", {}, "fresh")).status).toBe(200);
    expect(await countOf(id)).toBe(2);
  });

  test("many at once: one upstream call; the others get its answer or 409 while it runs", async () => {
    const { key, id } = await makeKey();
    const answers = await Promise.all(Array.from({ length: 8 }, () => say(key, "all at once")));
    for (const { status } of answers) expect([200, 409]).toContain(status);
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1);
    expect(await countOf(id)).toBe(1);
  });
});

describe("POST /api/gw/messages", () => {
  const send = (body: object, token: string | undefined = tenant.token, headers: Record<string, string> = {}) =>
    call(system.url, "POST", "/api/gw/messages", { token, body, headers });
  const message = (more: object = {}) => ({ ...MESSAGE, apiKey: tenant.key, ...more });

  test("answers as OpenAI does, streamed when asked, and bills the key", async () => {
    const answer = await send(message({ max_tokens: 1 }));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      object: "chat.completion",
      model: "echo",
      choices: [{ message: { content: "hello" }, finish_reason: "length" }],
    });
    expect(answer.headers.get("x-gw-call-id")).toMatch(/^call_/);
    const stream = await send(message({ stream: true }));
    expect(stream.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(stream.text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    const { body } = await call(system.url, "GET", `/api/gw/logs/${answer.headers.get("x-gw-call-id")}`, { token: tenant.token });
    expect(body.log).toMatchObject({ apiKeyId: tenant.keyId, endpoint: "/api/gw/messages" });
  });

  test("errors leave in the platform's shape", async () => {
    expectError(await call(system.url, "POST", "/api/gw/messages", { body: message() }), 401, "UNAUTHORIZED");
    expectError(await call(system.url, "POST", "/api/gw/messages", { key: tenant.key, body: message() }), 401, "UNAUTHORIZED");
    expectError(await send(message({ apiKey: undefined })), 400, "VALIDATION_ERROR", "apiKey");
    expectError(await send(message({ messages: [] })), 400, "VALIDATION_ERROR", "messages");
    expectError(await send(message({ model: "nothing" })), 404, "NOT_FOUND");
    expectError(await send(message({ apiKey: removedKey })), 401, "UNAUTHORIZED");
    const poor = await newTenant(system);
    expectError(await send(message({ apiKey: poor.key }), poor.token), 402, "QUOTA_EXCEEDED");
    await call(system.url, "POST", `/api/admin/teams/${poor.teamId}/block`, { token: admin, body: {} });
    await within(
      1000,
      () => chat(system, poor.key, "x"),
      ({ status }) => status === 403,
    );
    expectError(await send(message({ apiKey: poor.key }), poor.token), 403, "TEAM_BLOCKED");
    expectError(await call(system.url, "GET", "/api/gw/messages", { token: tenant.token }), 405, "VALIDATION_ERROR");
  });

  test("a key of another organization looks like one that does not exist", async () => {
    const [theirs, none] = [await send(message({ apiKey: other.key })), await send(message({ apiKey: "sk-nothing" }))];
    expectError(theirs, 401, "UNAUTHORIZED");
    expect({ ...theirs.body, requestId: "" }).toEqual({ ...none.body, requestId: "" });
  });
});
