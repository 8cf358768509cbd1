import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { startMcpServer, type TestMcpServer } from "../../gateway-edge/server/http/mcp/mcp-server-fixture.ts";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";

const CREDIT = 10_000_000;
const PRICE = 2_500_000;

let system: System;
let server: TestMcpServer;
beforeAll(async () => {
  [system, server] = await Promise.all([startSystem(), startMcpServer({ hasSessions: true })]);
});
afterAll(() => Promise.all([system?.stop(), server?.close()]));

async function inClient<Result>({ key }: Tenant, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ name: "client", version: "1.0.0" });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${system.url}/mcp`), { requestInit }) as Transport);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const shout = (tenant: Tenant) => inClient(tenant, (client) => client.callTool({ name: "weather__shout", arguments: { text: "rain" } }));
const namesOf = (tenant: Tenant) => inClient(tenant, async (client) => (await client.listTools()).tools.map(({ name }) => name));

test("the official client calls a registered tool until the credit is used up; log and ledger have each call", async () => {
  const tenant = await newTenant(system, { creditNano: CREDIT });
  const stranger = await newTenant(system, { creditNano: CREDIT });
  const headers = { authorization: "Bearer of-the-server" };
  const body = { name: "weather", url: server.url, headers, allowedTools: ["shout"], pricePerCall: PRICE };
  const made = await call(system.url, "POST", "/api/gw/mcp-servers", { token: tenant.token, body });
  expect([made.status, made.body.server.pricePerCallUsd]).toEqual([201, "0.0025"]);
  expect([await namesOf(tenant), await namesOf(stranger)]).toEqual([["weather__shout"], []]);
  for (let count = 0; count < CREDIT / PRICE; count++) expect((await shout(tenant)).content).toEqual([{ type: "text", text: "RAIN" }]);
  await expect(shout(tenant)).rejects.toMatchObject({ code: -32000 });
  await expect(shout(stranger)).rejects.toMatchObject({ code: -32602 });
  expect(server.called).toHaveLength(CREDIT / PRICE);
  const { body: logs } = await call(system.url, "GET", "/api/gw/logs?status=success", { token: tenant.token });
  expect(logs.data).toHaveLength(CREDIT / PRICE);
  for (const row of logs.data) expect(row).toMatchObject({ endpoint: "/mcp", model: "weather__shout", cost: PRICE });
  expect((await call(system.url, "GET", "/api/balance", { token: tenant.token })).body).toMatchObject({ balance: 0 });
  const removed = await call(system.url, "DELETE", `/api/gw/mcp-servers/${made.body.server.id}`, { token: tenant.token });
  expect([removed.status, await namesOf(tenant)]).toEqual([200, []]);
});
