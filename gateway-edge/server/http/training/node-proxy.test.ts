import { hash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import express from "express";
import { systemClock } from "../../../../common/clock.ts";
import { CREDENTIAL_HEADERS } from "../../../../common/credential-headers.ts";
import type { AppError } from "../../../../common/errors.ts";
import { systemRandom } from "../../../../common/random.ts";
import { SIGNATURE_HEADERS, signatureOf } from "../../../../common/training/call-signature.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { requestId } from "../../middleware/request-id.ts";
import { nodeProxy } from "./node-proxy.ts";

interface Answer {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

let received: { url: string; method: string; headers: IncomingHttpHeaders; body: string }[] = [];
let looks: string[] = [];
let answer: Answer = {};
let node: Server;
let edge: Server;
beforeAll(async () => {
  node = createServer(async (request, response) => {
    const { url = "", method = "", headers } = request;
    received.push({ url, method, headers, body: await text(request) });
    response.writeHead(answer.status ?? 200, answer.headers ?? {});
    response.end(answer.body ?? "{}");
  });
  await listening(node);
  const getNode = async ({ id }: { id: string }, { metadata }: { metadata: { authorization: string } }) => {
    looks.push(metadata.authorization);
    return {
      node: {
        id,
        url: urlOf(node) + (id === "node_signed" ? "/base" : ""),
        teamId: id === "node_shared" ? "" : "team_1",
        secret: id === "node_signed" ? SECRET : undefined,
      },
      tenantId: "org_caller",
    };
  };
  const config = { allowPrivateNodes: true, jsonBodyBytesMax: BODY_BYTES_MAX };
  const deps = { control: { training: { getNode } }, config, clock: systemClock, random: systemRandom };
  const app = express().use(requestId(deps), nodeProxy(deps as unknown as EdgeDeps));
  const statuses: Record<string, number> = { UNAUTHORIZED: 401, PAYLOAD_TOO_LARGE: 413 };
  app.use(((error: AppError, _request, response, _next) => {
    response.status(statuses[error.code] ?? 500).end(error.message);
  }) as express.ErrorRequestHandler);
  edge = createServer(app);
  await listening(edge);
});
afterAll(() => {
  node.close();
  edge.close();
});
beforeEach(() => {
  received = [];
  looks = [];
  answer = {};
});

const SECRET = "a secret of the node and its team";
const BODY_BYTES_MAX = 1000;
const listening = (server: Server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const KEY = { "x-gw-api-key": `sk-${"k".repeat(30)}` };
const TOKEN = "aaa.bbb.ccc";

const ask = (path: string, headers: Record<string, string> = KEY, method = "GET") =>
  fetch(urlOf(edge) + path, { method, headers, redirect: "manual" });

async function through(id: string, headers: Record<string, string> = {}) {
  await ask(`/training/nodes/${id}/v1/jobs/j?x=1`, { ...KEY, ...headers });
  return received[0];
}

test("a shared node receives the tenant and the forwarded prefix; the caller's own values are dropped", async () => {
  const call = await through("node_shared", { "x-gw-tenant": "org_other", "x-forwarded-prefix": "/elsewhere" });
  expect(call).toMatchObject({
    url: "/v1/jobs/j?x=1",
    headers: { "x-gw-tenant": "org_caller", "x-forwarded-prefix": "/training/nodes/node_shared" },
  });
  expect(call?.headers["x-gw-api-key"]).toBeUndefined();
});

test("no header that can hold a key of the gateway reaches a node", async () => {
  const [secret] = Object.values(KEY);
  const valueIn = (name: string) => (name === "authorization" ? `Bearer ${secret}` : String(secret));
  const names = [...CREDENTIAL_HEADERS, "x-litellm-api-key"];
  const call = await through("node_1", Object.fromEntries(names.map((name) => [name, valueIn(name)])));
  expect(call?.url).toBe("/v1/jobs/j?x=1");
  expect(JSON.stringify(call?.headers)).not.toContain(secret);
});

test("the node gets the request id of the answer: the caller's own, or the one that the edge made", async () => {
  const [own, refused] = [
    await ask("/training/nodes/node_1/x", { ...KEY, "x-request-id": "mine-1" }),
    await ask("/training/nodes/node_1/x", { ...KEY, "x-request-id": "no id" }),
  ];
  expect(received.map(({ headers }) => headers["x-request-id"])).toEqual(["mine-1", expect.stringMatching(/^req_/)]);
  expect([own, refused].map(({ headers }) => headers.get("x-request-id"))).toEqual(received.map(({ headers }) => headers["x-request-id"]));
});

test("the node sees its own name as Host and no Origin, because it refuses other names and the pages of other origins", async () => {
  const call = await through("node_shared", { origin: urlOf(edge) });
  expect([call?.headers.host, call?.headers.origin]).toEqual([new URL(urlOf(node)).host, undefined]);
});

test("a team's own node gets the same: its address may be another name of a shared one", async () => {
  const call = await through("node_1", { "x-gw-tenant": "org_other" });
  expect(call?.headers["x-forwarded-prefix"]).toBe("/training/nodes/node_1");
  expect(call?.headers["x-gw-tenant"]).toBe("org_caller");
});

test("a page that a node answers with is a download in a sandbox, and nothing that it says to browsers is passed on", async () => {
  answer = {
    headers: {
      "content-type": "text/html",
      "content-security-policy": "script-src *",
      "x-frame-options": "ALLOWALL",
      "set-cookie": "__Host-tributary=evil; Path=/; Secure",
      "access-control-allow-origin": "*",
      "access-control-allow-credentials": "true",
      "service-worker-allowed": "/",
      "clear-site-data": '"*"',
      "www-authenticate": "Basic",
      "content-disposition": "inline",
      "cache-control": "public, max-age=3600",
      "x-content-type-options": "sniff",
      refresh: "0;url=https://evil.example",
      link: "<https://evil.example/x.js>; rel=preload; as=script",
      location: "https://evil.example/",
    },
    body: "<script>fetch('/api/auth/me')</script>",
  };
  const page = await ask("/training/nodes/node_1/steal.html");
  expect([page.status, await page.text()]).toEqual([200, answer.body]);
  expect(Object.fromEntries(page.headers)).toEqual({
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-request-id": expect.stringMatching(/^req_/),
    "content-type": "application/octet-stream",
    "content-disposition": "attachment",
    "x-powered-by": "Express",
    connection: "keep-alive",
    date: expect.any(String),
    "transfer-encoding": "chunked",
  });
});

test.each([
  ["application/json; charset=utf-8", "application/json; charset=utf-8", null],
  ["application/problem+json", "application/problem+json", null],
  ["application/octet-stream", "application/octet-stream", null],
  ["application/msgpack", "application/msgpack", null],
  ["text/event-stream", "text/event-stream", null],
  ["text/plain; version=0.0.4", "text/plain; version=0.0.4", null],
  ["image/svg+xml", "application/octet-stream", "attachment"],
  ["application/json,text/html", "application/octet-stream", "attachment"],
  ["text/html; x=application/json", "application/octet-stream", "attachment"],
  ["application/xhtml+xml", "application/octet-stream", "attachment"],
  ["", "application/octet-stream", "attachment"],
])("what a node calls %j is passed on as %j", async (given, type, disposition) => {
  answer = given === "" ? {} : { headers: { "content-type": given } };
  const { headers } = await ask("/training/nodes/node_1/x");
  expect([headers.get("content-type"), headers.get("content-disposition")]).toEqual([type, disposition]);
});

test("the headers of the participant API are passed on, and its paths lead through the proxy", async () => {
  const prefix = "/training/nodes/node_1";
  const documented = {
    "content-type": "application/json",
    etag: '"a"',
    "retry-after": "3",
    "content-range": "bytes 0-1/2",
    "accept-ranges": "bytes",
    "last-modified": "Sun, 15 Nov 2026 00:00:00 GMT",
    "idempotent-replayed": "true",
    "preference-applied": "respond-async",
    "x-result": '{"num_samples":3}',
    allow: "GET, OPTIONS",
  };
  answer = { status: 202, headers: { ...documented, location: `${prefix}/v1/jobs/1` } };
  const taken = await ask(`${prefix}/train`);
  expect([taken.status, Object.fromEntries(taken.headers)]).toMatchObject([202, { ...documented, location: `${prefix}/v1/jobs/1` }]);

  const locations: [given: string, passed: string | null][] = [
    ["/v1/jobs/2", `${prefix}/v1/jobs/2`],
    [`${urlOf(node)}/v1/jobs/3?x=1`, `${prefix}/v1/jobs/3?x=1`],
    ["https://evil.example/", null],
    ["//evil.example/", null],
    ["javascript:alert(1)", null],
    [`${prefix}/../../../ui`, `${prefix}/ui`],
  ];
  for (const [location, passed] of locations) {
    answer = { status: 302, headers: { location } };
    expect([location, (await ask(`${prefix}/x`)).headers.get("location")]).toEqual([location, passed]);
  }
});

test("the console's cookie does not open a node; a token or a key does", async () => {
  for (const method of ["GET", "POST", "DELETE"]) {
    const cookie = { cookie: `__Host-tributary=${TOKEN}; tributary-session=${TOKEN}`, "sec-fetch-site": "same-origin" };
    const refused = await ask("/training/nodes/node_1/x", cookie, method);
    expect([refused.status, refused.headers.get("content-security-policy")]).toEqual([401, "sandbox; default-src 'none'"]);
  }
  expect([looks, received]).toEqual([[], []]);
  expect((await ask("/training/nodes/node_1/x", { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  expect((await ask("/training/nodes/node_1/x")).status).toBe(200);
  expect(looks).toEqual([TOKEN, expect.stringMatching(/^key-sha256 /)]);
});

describe("a node with a secret", () => {
  const PREFIX = "/training/nodes/node_signed";
  const post = (path: string, body: RequestInit["body"], headers: Record<string, string> = {}) =>
    fetch(`${urlOf(edge)}${PREFIX}${path}`, {
      method: "POST",
      headers: { ...KEY, ...headers },
      ...(body && { body }),
      duplex: "half",
    } as RequestInit);

  /** Whether the node would accept the call, and the hash that it compares the body with. */
  function checked(call: (typeof received)[number] | undefined) {
    const header = (name: keyof typeof SIGNATURE_HEADERS) => String(call?.headers[SIGNATURE_HEADERS[name]]);
    const { method = "", url: path = "", headers = {} } = call ?? {};
    const parts = { method, path, headers, timestamp: header("timestamp"), nonce: header("nonce"), bodySha256: header("bodySha256") };
    return { isSigned: signatureOf(SECRET, parts) === header("signature"), bodySha256: header("bodySha256") };
  }

  test.each<[string, () => RequestInit["body"], string]>([
    ["JSON", () => '{"a":1}', '{"a":1}'],
    ["a stream of unknown length", () => new Blob(["stre", "amed"]).stream(), "streamed"],
    ["no body", () => undefined, ""],
  ])("receives calls that are signed with it: %s", async (_name, body, arrived) => {
    const headers = { "content-type": "application/json", "idempotency-key": "k", "x-train-config": "{}", "x-gw-tenant": "org_other" };
    expect((await post("/v1/train?async=1", body(), headers)).status).toBe(200);
    expect(received[0]).toMatchObject({ url: "/base/v1/train?async=1", body: arrived, headers: { "x-gw-tenant": "org_caller" } });
    expect(checked(received[0])).toEqual({ isSigned: true, bodySha256: hash("sha256", arrived, "hex") });
  });

  test("reads need no body hash, and every call has a new nonce", async () => {
    for (const method of ["GET", "DELETE", "GET"]) await ask(`${PREFIX}/v1/jobs/1`, KEY, method);
    expect(received.map(checked)).toEqual(Array.from({ length: 3 }, () => ({ isSigned: true, bodySha256: "" })));
    expect(new Set(received.map(({ headers }) => headers[SIGNATURE_HEADERS.nonce])).size).toBe(3);
  });

  test("bodies above the limit pass only if their hash is known: as the name of a blob, or declared by the caller", async () => {
    const large = "x".repeat(BODY_BYTES_MAX + 1);
    const sha256 = hash("sha256", large, "hex");
    const refused = await post("/v1/train", large);
    expect([refused.status, await refused.text()]).toEqual([413, expect.stringContaining(SIGNATURE_HEADERS.bodySha256)]);
    expect((await post("/v1/train", new Blob([large]).stream())).status).toBe(413);
    expect(received).toEqual([]);
    await fetch(`${urlOf(edge)}${PREFIX}/v1/blobs/${sha256}`, { method: "PUT", headers: KEY, body: large });
    await post("/v1/train", large, { [SIGNATURE_HEADERS.bodySha256]: sha256.toUpperCase() });
    expect(received.map((call) => ({ ...checked(call), body: call.body }))).toEqual(
      Array.from({ length: 2 }, () => ({ isSigned: true, bodySha256: sha256, body: large })),
    );
  });

  test("a caller's own signature headers do not reach it", async () => {
    const forged = Object.fromEntries(Object.values(SIGNATURE_HEADERS).map((name) => [name, "forged"]));
    await post("/v1/train", "{}", forged);
    expect(checked(received[0])).toEqual({ isSigned: true, bodySha256: hash("sha256", "{}", "hex") });
  });
});
