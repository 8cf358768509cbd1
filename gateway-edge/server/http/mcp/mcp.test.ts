import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { AppError } from "../../../../common/errors.ts";
import { WAITING_MAX } from "../../../calls/mcp/list-turns.ts";
import { FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { startMcpServer } from "./mcp-server-fixture.ts";

const PRICE = 2_500_000n;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Opening {
  env?: Record<string, string>;
  hasSessions?: boolean;
  settings?: object;
}

async function open({ env = {}, hasSessions = true, settings = {} }: Opening = {}) {
  const server = await startMcpServer({ hasSessions });
  const control = new FakeControl();
  control.settings = JSON.stringify(settings);
  const edge = await startEdge(control, {}, env);
  closing.push(server.close, edge.close);
  register(control, { url: server.url });
  const { secret, caller } = control.addKey();
  return { server, control, edge, secret, caller };
}

function register(control: FakeControl, fields: { name?: string; url: string; teamId?: string; tools?: string[] }): void {
  const { name = "test", url, teamId, tools } = fields;
  control.mcpServers.push({
    id: `mcp_${name}`,
    organizationId: "org_1",
    ...(teamId !== undefined && { teamId }),
    name,
    url,
    headers: { authorization: "Bearer of-the-server" },
    allowedTools: tools && { names: tools },
    pricePerCall: PRICE,
  });
}

async function connect(edge: TestEdge, secret: string): Promise<Client> {
  const client = new Client({ name: "client", version: "1.0.0" });
  const headers = { authorization: `Bearer ${secret}`, cookie: "of=the-client" };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${edge.url}/mcp`), { requestInit: { headers } }) as Transport);
  closing.push(() => client.close());
  return client;
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const shout = (client: Client, name = "test__shout") => client.callTool({ name, arguments: { text: "hello" } });

/** An MCP server that answers with what the test says. */
async function listen(handle: RequestListener): Promise<string> {
  const server: Server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const rpc = (edge: TestEdge, secret: string, message: unknown, headers: Record<string, string> = {}) =>
  edge.post("/mcp", message, { authorization: `Bearer ${secret}`, ...headers });

describe.each([
  ["with sessions and events", true],
  ["without sessions, with JSON", false],
])("a server %s", (_name, hasSessions) => {
  test("the official client lists and calls its tool; the call is in the log and billed exactly", async () => {
    const { server, control, edge, secret, caller } = await open({ hasSessions });
    const before = control.balance;
    const client = await connect(edge, secret);
    const { tools } = await client.listTools();
    expect(tools[0]).toMatchObject({ name: "test__shout", description: "Shouts.", inputSchema: { required: ["text"] } });
    expect((await shout(client)).content).toEqual([{ type: "text", text: "HELLO" }]);
    expect(server.called).toEqual(["hello"]);
    expect(control.made).toMatchObject([
      { endpoint: "/mcp", model: "test__shout", provider: "test", type: "mcp", status: "success", cost: PRICE, apiKeyId: caller.keyId },
    ]);
    expect(control.intents).toMatchObject([{ worstCase: PRICE }]);
    expect(control.balance).toBe(before - PRICE);
  });
});

test("a server gets its own headers and nothing of the client; its sessions are ended", async () => {
  const { server, edge, secret } = await open();
  await shout(await connect(edge, secret));
  for (const headers of server.requests) expect(headers.authorization).toBe("Bearer of-the-server");
  expect(JSON.stringify(server.requests)).not.toContain("of=the-client");
  while (server.sessions.size > 0) await new Promise(setImmediate);
  expect(server.requests).toHaveLength(4);
});

test("a key of another organization sees and calls nothing", async () => {
  const { server, control, edge } = await open();
  const { secret } = control.addKey({ organizationId: "org_2", teamId: "team_2" });
  const client = await connect(edge, secret);
  expect(await namesOf(client)).toEqual([]);
  await expect(shout(client)).rejects.toMatchObject({ code: -32602 });
  expect([server.requests.length, control.made.length]).toEqual([0, 0]);
});

test("allowed tools, the team of a server, and the model list of a key bound what a key sees and calls", async () => {
  const { server, control, edge, secret } = await open();
  control.mcpServers = [];
  register(control, { name: "few", url: server.url, tools: ["shout"] });
  register(control, { name: "foreign", url: server.url, teamId: "team_other" });
  register(control, { name: "other", url: server.url });
  const client = await connect(edge, secret);
  expect(await namesOf(client)).toEqual(["few__shout", "other__shout", "other__hidden"]);
  for (const name of ["few__hidden", "foreign__shout", "shout"]) await expect(shout(client, name)).rejects.toMatchObject({ code: -32602 });
  const bound = await connect(edge, control.addKey({ models: { names: ["echo", "other__*"] } }).secret);
  expect(await namesOf(bound)).toEqual(["other__shout", "other__hidden"]);
  await expect(shout(bound, "few__shout")).rejects.toMatchObject({ code: -32602 });
  expect(server.called).toEqual([]);
});

test.each<[string, string, (control: FakeControl) => { secret: string }]>([
  ["of a blocked team", "TEAM_BLOCKED", (control) => control.addKey({ status: "team_blocked", blockedReason: "quota" })],
  [
    "over its limit",
    "rate_limit_exceeded",
    (control) => {
      control.refuseReserve = new AppError("RATE_LIMIT_EXCEEDED", "Too many.");
      return control.addKey({ isLimited: true });
    },
  ],
  [
    "with less credit than the price",
    "QUOTA_EXCEEDED",
    (control) => {
      control.balance = PRICE - 1n;
      return control.addKey({ isLimited: true });
    },
  ],
])("a key %s is refused with a JSON-RPC error, the server is not called, and nothing is billed", async (_name, code, key) => {
  const { server, control, edge } = await open();
  const before = key(control);
  const balance = control.balance;
  const client = await connect(edge, before.secret);
  await expect(shout(client)).rejects.toMatchObject({ code: -32000, data: { code } });
  expect(server.requests).toHaveLength(0);
  while (control.settled.size === 0) await new Promise(setImmediate);
  expect([...control.settled.values()]).toMatchObject([{ endpoint: "/mcp", model: "test__shout", cost: 0n }]);
  expect(control.balance).toBe(balance);
});

test("a key under guardrails is refused: they could not read the call", async () => {
  const guardrails = [{ guardrail_name: "g", litellm_params: { guardrail: "regex", patterns: ["x"], default_on: true } }];
  const { server, edge, secret } = await open({ settings: { guardrails } });
  await expect(shout(await connect(edge, secret))).rejects.toMatchObject({ code: -32000, data: { code: "forbidden" } });
  expect(server.requests).toHaveLength(0);
});

test("an error of the server is passed on, and not billed", async () => {
  const { control, edge, secret } = await open();
  const url = await listen(async (request, response) => {
    const message = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()) as { id?: number; method: string };
    const error = { code: -32042, message: "Sign in first.", data: { at: "there" } };
    const answer = message.method === "initialize" ? { result: { protocolVersion: "2025-06-18" } } : { error };
    response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer }));
  });
  register(control, { name: "failing", url });
  const client = await connect(edge, secret);
  await expect(shout(client, "failing__x")).rejects.toMatchObject({ code: -32042, data: { at: "there" } });
  expect(control.made).toMatchObject([{ status: "error", cost: 0n }]);
});

test.each<[string, RequestListener]>([
  ["fails", (_request, response) => void response.writeHead(500).end()],
  ["answers nothing", () => {}],
  ["redirects", (_request, response) => void response.writeHead(307, { location: "http://127.0.0.1:9/" }).end()],
  ["answers with no JSON", (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).end("<html>")],
  [
    "answers without end",
    (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = () => {
        while (!response.destroyed && response.write(`data: ${"x".repeat(65_536)}`));
      };
      response.on("drain", more);
      more();
    },
  ],
])("a server that %s is left out of the list, and its calls are errors that cost nothing", async (name, handle) => {
  const { control, edge, secret } = await open({ env: { MCP_TIMEOUT_MS: "500" } });
  register(control, { name: "broken", url: await listen(handle) });
  const client = await connect(edge, secret);
  if (name !== "answers nothing") expect(await namesOf(client)).toEqual(["test__shout", "test__hidden"]);
  await expect(shout(client, "broken__x")).rejects.toMatchObject({ code: -32000 });
  expect(control.made).toMatchObject([{ model: "broken__x", status: "error", cost: 0n }]);
});

/** A server that answers `tools/list` with pages of `tools`, and counts them. */
async function pagesOf(tools: readonly object[], { holds = Promise.resolve() }: { holds?: Promise<void> } = {}) {
  const pages = { count: 0, url: "" };
  pages.url = await listen(async (request, response) => {
    const message = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString() || "{}") as { id?: number; method?: string };
    if (message.method === "tools/list") {
      pages.count++;
      await holds;
    }
    const result = message.method === "initialize" ? { protocolVersion: "2025-06-18" } : { tools, nextCursor: "more" };
    response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  });
  return pages;
}

test.each([
  ["many small tools", Array.from({ length: 150_000 }, () => ({ name: "a" })), 1],
  ["a thousand tools in each of its pages", Array.from({ length: 1000 }, () => ({ name: "a" })), 2],
  ["large tools", Array.from({ length: 150 }, () => ({ name: "a", description: "x".repeat(10_000) })), 2],
])(
  "a server that sends %s is read to its part of a list and left out of it, and takes nothing from the others",
  async (_what, tools, count) => {
    const { control, edge, secret } = await open();
    const pages = await pagesOf(tools);
    register(control, { name: "long", url: pages.url });
    const client = await connect(edge, secret);
    expect(await namesOf(client)).toEqual(["test__shout", "test__hidden"]);
    expect(pages.count).toBe(count);
  },
);

test("lists of one key wait for each other, and too many are refused; another key's list does not wait", async () => {
  const { promise: holds, resolve: goOn } = Promise.withResolvers<void>();
  const { control, edge, secret } = await open();
  const pages = await pagesOf([{ name: "a" }], { holds });
  register(control, { name: "slow", url: pages.url, teamId: "team_1" });
  const list = async (key: string) => {
    const response = await rpc(edge, key, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    return ((await response.json()) as { error?: { data: { code: string } } }).error?.data.code ?? "listed";
  };
  const asked = Array.from({ length: 2 + WAITING_MAX + 1 }, () => list(secret));
  // All but one wait: two for the server, the others for their turn.
  expect(await Promise.race(asked)).toBe("rate_limit_exceeded");
  expect(pages.count).toBeLessThanOrEqual(2);
  expect(await list(control.addKey({ teamId: "team_2" }).secret)).toBe("listed");
  goOn();
  const outcomes = await Promise.all(asked);
  expect(outcomes.filter((outcome) => outcome === "listed")).toHaveLength(2 + WAITING_MAX);
});

test("the limits of a key count its lists: each is a request that costs nothing, and is in the log", async () => {
  const { control, edge } = await open();
  const { secret } = control.addKey({ isLimited: true });
  const client = await connect(edge, secret);
  expect(await namesOf(client)).toEqual(["test__shout", "test__hidden"]);
  while (control.settled.size === 0) await new Promise(setImmediate);
  expect(control.made).toMatchObject([{ endpoint: "/mcp", model: "tools/list", status: "success", cost: 0n }]);
  control.refuseReserve = new AppError("RATE_LIMIT_EXCEEDED", "Too many requests.");
  await expect(client.listTools()).rejects.toMatchObject({ code: -32000 });
});

test("ssrf: a private address is refused when exposed, also if it was registered before", async () => {
  const { server, control, edge, secret } = await open({ env: { TRUST_PROXY: "127.0.0.1" } });
  const client = await connect(edge, secret);
  expect(await namesOf(client)).toEqual([]);
  await expect(shout(client)).rejects.toThrow("ALLOW_PRIVATE_MCP");
  expect(server.requests).toHaveLength(0);
  expect(control.made).toMatchObject([{ status: "error", cost: 0n }]);
});

test("messages by themselves: versions, notifications, ping, unknown methods, and what is no message", async () => {
  const { edge, secret } = await open();
  const ask = async (message: unknown, headers = {}) => {
    const response = await rpc(edge, secret, message, headers);
    return [response.status, response.status === 202 ? "" : await response.json()];
  };
  const initialize = (protocolVersion: string) => ({ jsonrpc: "2.0", id: "a", method: "initialize", params: { protocolVersion } });
  expect(await ask(initialize("2025-03-26"))).toMatchObject([200, { id: "a", result: { protocolVersion: "2025-03-26" } }]);
  expect(await ask(initialize("1999-01-01"))).toMatchObject([
    200,
    { result: { protocolVersion: "2025-11-25", capabilities: { tools: {} } } },
  ]);
  expect(await ask({ jsonrpc: "2.0", method: "notifications/initialized" })).toEqual([202, ""]);
  expect(await ask({ jsonrpc: "2.0", id: 1, method: "ping" })).toEqual([200, { jsonrpc: "2.0", id: 1, result: {} }]);
  expect(await ask({ jsonrpc: "2.0", id: 1, method: "constructor" })).toMatchObject([200, { error: { code: -32601 } }]);
  expect(await ask([])).toMatchObject([400, { error: { code: -32600 } }]);
  expect(await ask("{")).toMatchObject([400, { id: null, error: { code: -32700 } }]);
  expect(await ask({ jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-protocol-version": "1" })).toMatchObject([400, {}]);
});

test("there are no streams of the server, and no access without a key", async () => {
  const { edge, secret } = await open();
  for (const method of ["GET", "DELETE"]) {
    const { status, headers } = await fetch(`${edge.url}/mcp`, { method, headers: { authorization: `Bearer ${secret}` } });
    expect([status, headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  }
  expect((await edge.post("/mcp", { jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(401);
});

test("a call whose client leaves is finished and billed", async () => {
  const { server, control, edge, secret } = await open();
  const leaving = new AbortController();
  const reserve = control.intents;
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "test__shout", arguments: { text: "left" } } };
  const answer = fetch(`${edge.url}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(call),
    signal: leaving.signal,
  });
  while (reserve.length === 0) await new Promise(setImmediate);
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await edge.inference.stop();
  expect(server.called).toEqual(["left"]);
  expect(control.made).toMatchObject([{ status: "success", cost: PRICE }]);
});
