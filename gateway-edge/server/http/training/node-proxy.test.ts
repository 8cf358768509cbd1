import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import type { AppError } from "../../../../common/errors.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { nodeProxy } from "./node-proxy.ts";

interface Answer {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

let received: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
let looks: string[] = [];
let answer: Answer = {};
let node: Server;
let edge: Server;
beforeAll(async () => {
  node = createServer((request, response) => {
    received.push({ url: request.url, headers: request.headers });
    response.writeHead(answer.status ?? 200, answer.headers ?? {});
    response.end(answer.body ?? "{}");
  });
  await listening(node);
  const getNode = async ({ id }: { id: string }, { metadata }: { metadata: { authorization: string } }) => {
    looks.push(metadata.authorization);
    return {
      node: { id, url: urlOf(node), teamId: id === "node_shared" ? "" : "team_1", token: undefined },
      tenantId: "org_caller",
    };
  };
  const deps = { control: { training: { getNode } }, config: { allowPrivateNodes: true } };
  const app = express().use(nodeProxy(deps as unknown as Pick<EdgeDeps, "control" | "config">));
  app.use(((error: AppError, _request, response, _next) => {
    response.status(error.code === "UNAUTHORIZED" ? 401 : 500).end(error.message);
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
