import type { Router } from "express";
import { systemClock } from "../../../common/clock.ts";
import { mintSecret } from "../../../common/key-shape.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import { OpenCalls } from "../../calls/open-calls.ts";
import { readEdgeConfig } from "../../config.ts";
import { ResponseFeed } from "../../stored/responses/response-feed.ts";
import { inferenceOperations, inferenceRouter } from "./routes.ts";
import { deployment, FakeControl, MASTER_KEY, startEdge, type TestEdge, USER_TOKEN } from "./testing/edge-fixture.ts";

const chat = { model: "echo", messages: [{ role: "user", content: "hi" }] };
const PATHS = ["/chat/completions", "/v1/chat/completions", "/engines/echo/chat/completions", "/openai/deployments/echo/chat/completions"];

let edge: TestEdge;
let control: FakeControl;
beforeEach(async () => {
  control = new FakeControl();
  edge = await startEdge(control);
});
afterEach(() => edge.close());

const call = (url: string, path: string, headers: Record<string, string>) =>
  fetch(url + path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(chat) });

interface Layer {
  route?: { path: string | string[]; methods: Record<string, boolean> };
  handle?: { stack?: Layer[] };
}

/** Every route of the router and of those in it, with an example of its path. */
function routesOf(router: Router): { method: string; path: string }[] {
  return routesIn((router as unknown as { stack: Layer[] }).stack);
}

function routesIn(layers: readonly Layer[]): { method: string; path: string }[] {
  return layers.flatMap(({ route, handle }) => {
    if (!route) return routesIn(handle?.stack ?? []);
    if (typeof route.path !== "string") return [];
    const path = route.path.replace(/:\w+/g, "echo").replace(/\*\w+/, "echo");
    return Object.keys(route.methods).map((method) => ({ method: method.toUpperCase(), path }));
  });
}

test("no inference route answers without a key: each one found in the router is refused, before its body is read", async () => {
  const deps = {
    config: readEdgeConfig({}),
    control: control.asControlPlane(),
    records: control.records,
    clock: systemClock,
    random: systemRandom,
    openCalls: new OpenCalls(),
    logger: silentLogger,
  };
  const routes = routesOf(
    inferenceRouter(deps, {
      inference: edge.inference,
      worker: edge.worker,
      runs: edge.runs,
      feed: new ResponseFeed(),
      authProfile: "gateway",
    }),
  );
  expect(routes.length).toBeGreaterThanOrEqual(18);
  for (const { method, path } of routes) {
    const response = await fetch(edge.url + path, { method, ...(method === "POST" ? { body: "{ not even json" } : {}) });
    expect([method, path, response.status]).toEqual([method, path, 401]);
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="gateway"');
  }
  expect(control.resolveCalls).toBe(0);
  expect(inferenceOperations.length).toBeGreaterThanOrEqual(18);
});

test("credential headers by profile, on every path", async () => {
  const { secret } = control.addKey();
  const variants: [Record<string, string>, number, number][] = [
    [{ "x-gw-api-key": secret }, 200, 200],
    [{ authorization: `Bearer ${secret}` }, 200, 401],
    [{ "x-api-key": secret }, 200, 401],
    [{ "api-key": secret }, 200, 401],
    [{ authorization: "Bearer eyJh.eyJz.c2ln" }, 401, 401],
    [{ "x-gw-api-key": secret, authorization: "Bearer dummy" }, 200, 200],
    [{ "x-gw-api-key": MASTER_KEY }, 200, 200],
    [{ "x-gw-api-key": `${MASTER_KEY}!` }, 401, 401],
  ];
  for (const path of PATHS) {
    for (const [headers, gateway, hosted] of variants) {
      expect((await call(edge.url, path, headers)).status).toBe(gateway);
      expect((await call(edge.hostedUrl, path, headers)).status).toBe(hosted);
    }
  }
});

test("missing, ill-formed, unknown, expired and revoked are one answer", async () => {
  const expired = control.addKey({ expiresAt: new Date(Date.now() - 1000) });
  const revoked = control.addKey();
  expect((await call(edge.url, "/v1/chat/completions", { "x-api-key": revoked.secret })).status).toBe(200);
  for (const [hash, caller] of control.callers) if (caller.keyId === revoked.caller.keyId) control.callers.delete(hash);
  control.change({ kind: "key", subject: revoked.caller.keyId });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const answers = new Set<string>();
  for (const key of [undefined, "sk-no", mintSecret(systemRandom), expired.secret, revoked.secret]) {
    const response = await call(edge.url, "/v1/chat/completions", key === undefined ? {} : { authorization: `Bearer ${key}` });
    answers.add(`${response.status} ${response.headers.get("www-authenticate")} ${await response.text()}`);
  }
  expect(answers.size).toBe(1);
  const hosted = await call(edge.hostedUrl, "/v1/chat/completions", { authorization: `Bearer ${revoked.secret}` });
  expect(((await hosted.json()) as { error: { message: string } }).error.message).toContain("x-gw-api-key");
});

test("one lookup for each known key, none for a malformed one; a revoked key is refused, and a blocked team gets its own error", async () => {
  const { secret, caller } = control.addKey();
  for (let repeat = 0; repeat < 3; repeat++) await call(edge.url, "/v1/chat/completions", { "x-api-key": secret });
  await call(edge.url, "/v1/chat/completions", { "x-api-key": `${secret.slice(0, -1)}!` });
  expect(control.resolveCalls).toBe(1);
  for (const [hash, known] of control.callers) control.callers.set(hash, { ...known, status: "team_blocked" });
  control.change({ kind: "team", subject: caller.teamId });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await call(edge.url, "/v1/chat/completions", { "x-api-key": secret })).status).toBe(403);
});

test("a catalog change is seen: a new model can be called", async () => {
  const headers = { "x-api-key": control.addKey().secret };
  control.deployments.push(deployment({ modelName: "a/new" }));
  control.change({ kind: "catalog", subject: "a/new" });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await fetch(`${edge.url}/v1/models/a/new`, { headers })).status).toBe(200);
  expect((await fetch(`${edge.url}/models/a%2Fnew`, { headers })).status).toBe(200);
});

test("models: what the key may use, real times and owners; others look absent", async () => {
  const headers = { "x-api-key": control.addKey({ models: { names: ["echo"] } }).secret };
  control.deployments.push(deployment({ modelName: "other" }));
  control.change({ kind: "catalog", subject: "other" });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const entry = { id: "echo", object: "model", created: 1767323045, owned_by: "echo" };
  expect(await (await fetch(`${edge.url}/models`, { headers })).json()).toEqual({ object: "list", data: [entry] });
  expect(await (await fetch(`${edge.url}/v1/models/echo`, { headers })).json()).toEqual(entry);
  const hidden = await fetch(`${edge.url}/v1/models/other`, { headers });
  expect([hidden.status, await hidden.json()]).toEqual([
    404,
    { error: { message: "The model other does not exist.", type: "not_found_error", param: "model", code: "model_not_found" } },
  ]);
});

describe("POST /api/gw/messages", () => {
  const path = "/api/gw/messages";
  const token = { authorization: `Bearer ${USER_TOKEN}` };

  test("the key in the body pays; the answer is OpenAI's, whole or streamed", async () => {
    const { secret } = control.addKey();
    const response = await edge.post(path, { ...chat, apiKey: secret }, token);
    expect([response.status, ((await response.json()) as { object: string }).object]).toEqual([200, "chat.completion"]);
    const streamed = await edge.post(path, { ...chat, apiKey: secret, stream: true }, token);
    expect(await streamed.text()).toContain("[DONE]");
    expect([...control.settled.values()].every((log) => log.endpoint === path && log.apiKeyId === "key_1")).toBe(true);
    // An organization that is not the active one.
    expect((await edge.post(path, { ...chat, apiKey: control.addKey({ organizationId: "org_3" }).secret }, token)).status).toBe(200);
  });

  test("errors are the platform's; another tenant's key looks like one that does not exist", async () => {
    const foreign = control.addKey({ organizationId: "org_2" }).secret;
    const rows: [object, Record<string, string>, number, string][] = [
      [{ ...chat, apiKey: foreign }, token, 401, "UNAUTHORIZED"],
      [{ ...chat, apiKey: mintSecret(systemRandom) }, token, 401, "UNAUTHORIZED"],
      [{ ...chat, apiKey: "sk-x" }, token, 401, "UNAUTHORIZED"],
      [chat, token, 400, "VALIDATION_ERROR"],
      [{ ...chat, apiKey: control.addKey().secret, n: 129 }, token, 400, "VALIDATION_ERROR"],
      [{ ...chat, apiKey: control.addKey().secret, model: "nothing" }, token, 404, "NOT_FOUND"],
      [{ ...chat, apiKey: control.addKey({ status: "team_blocked" }).secret }, token, 403, "TEAM_BLOCKED"],
      [chat, { authorization: "Bearer bad.token.x" }, 401, "UNAUTHORIZED"],
      [chat, {}, 401, "UNAUTHORIZED"],
    ];
    const messages: string[] = [];
    for (const [body, headers, status, code] of rows) {
      const response = await edge.post(path, body, headers);
      const answer = (await response.json()) as { error: string; code: string };
      expect([response.status, answer.code]).toEqual([status, code]);
      messages.push(answer.error);
    }
    expect(new Set(messages.slice(0, 3)).size).toBe(1);
    control.balance = 0n;
    expect((await edge.post(path, { ...chat, apiKey: control.addKey().secret }, token)).status).toBe(402);
  });
});

test.each([
  ["GET", "/v1/models/%ff"],
  ["GET", "/v1/models/%zz"],
  ["GET", "/v1/threads/%zz"],
  ["POST", "/engines/%zz/chat/completions"],
])("%s %s, a path that cannot be decoded, is a 400 with the ids that every answer has", async (method, path) => {
  const response = await fetch(edge.url + path, { method, headers: { authorization: `Bearer ${control.addKey().secret}` } });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { message: "The path is not valid." } }]);
  expect(response.headers.get("x-gw-call-id")).toMatch(/^call_/);
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
});
