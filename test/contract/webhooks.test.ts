import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { adminToken, call, chat, joinTeam, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { type Ask, expectError, within } from "./support.ts";

interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
}

let system: System;
let admin: string;
let ask: Ask;
let receiver: Server;
let url: string;
const received: Received[] = [];
/** By path: how often it fails before it works. */
const failures = new Map<string, number>();

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    const path = request.url ?? "";
    received.push({ path, headers: request.headers as Record<string, string>, body: await text(request) });
    const left = failures.get(path) ?? 0;
    failures.set(path, left - 1);
    response.writeHead(left > 0 ? 500 : 204).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  system = await startSystem({ env: { ALLOW_PRIVATE_WEBHOOKS: "true" } });
  admin = await adminToken(system);
  ask = (method, path, options) => call(system.url, method, path, options);
});
afterAll(async () => {
  await system.stop();
  receiver.close();
});

const ALL = ["balance.low", "balance.blocked", "balance.unblocked", "purchase.completed", "key.created", "key.removed"];
const create = (tenant: Tenant, body: unknown) => ask("POST", "/api/gw/webhooks", { token: tenant.token, body });
const typesAt = (path: string) => received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body).type);

async function arrived(path: string, count: number): Promise<Received[]> {
  for (let waitedMs = 0; waitedMs < 15_000; waitedMs += 50) {
    const found = received.filter((each) => each.path === path);
    if (found.length >= count) return found;
    await sleep(50);
  }
  throw new Error(`${path} received ${typesAt(path).join(", ")}; ${count} were expected`);
}

/** A tenant with a webhook for every event, at a path of its own. */
async function listening(events = ALL): Promise<{ tenant: Tenant; path: string; id: string; secret: string }> {
  const tenant = await newTenant(system);
  const path = `/${tenant.organizationId}`;
  const { status, body } = await create(tenant, { url: url + path, events });
  expect(status).toBe(201);
  return { tenant, path, id: body.webhook.id, secret: body.secret };
}

const credit = (tenant: Tenant, amount: number) =>
  ask("POST", `/api/admin/organizations/${tenant.organizationId}/credits`, { token: admin, body: { amount } });
const deliveries = ({ tenant, id }: { tenant: Tenant; id: string }) =>
  ask("GET", `/api/gw/webhooks/${id}/deliveries`, { token: tenant.token });

test("the secret is shown once, and what comes is signed with it as Standard Webhooks says", async () => {
  const { tenant, path, id, secret } = await listening();
  expect(secret).toMatch(/^whsec_/);
  const list = await ask("GET", "/api/gw/webhooks", { token: tenant.token });
  expect(list.text).not.toContain(secret.slice(6));
  expect(list.body.data).toMatchObject([{ id, url: url + path, events: ALL, createdBy: tenant.userId }]);
  const asked = await ask("POST", `/api/gw/webhooks/${id}/test`, { token: tenant.token });
  expect([asked.status, asked.body.delivery.status]).toEqual([202, "pending"]);
  const [message] = await arrived(path, 1);
  const event = new Webhook(secret).verify(message?.body ?? "", message?.headers ?? {});
  expect(event).toEqual({
    type: "webhook.test",
    timestamp: expect.any(String),
    data: { organizationId: tenant.organizationId, webhookId: id },
  });
  expect(message?.headers["webhook-id"]).toBe(asked.body.delivery.id);
  const log = await within(
    5000,
    () => deliveries({ tenant, id }),
    ({ body }) => body.data[0].status === "delivered",
  );
  expect(log.body.data).toMatchObject([{ type: "webhook.test", attempts: 1, httpStatus: 204, error: null, nextAttemptAt: null }]);
});

test("keys, purchases, a low balance, the block and its end are delivered as they happen, each once", async () => {
  const { tenant, path } = await listening();
  const { token } = tenant;
  await ask("PUT", "/api/gw/organizations", { token, body: { lowBalanceThreshold: 1000 } });
  const { body: made } = await ask("POST", "/api/gw/api-keys", { token, body: { name: "watched", team_id: tenant.teamId } });
  await ask("POST", "/api/api-keys/remove", { token, body: { apiKey: made.apiKey.id } });
  await ask("POST", "/api/credits/purchase", { token, body: { amount: 1_000_000, method: "test" } });
  await credit(tenant, -999_500);
  await credit(tenant, -100);
  await credit(tenant, -1000);
  await credit(tenant, 5000);
  const deliveries = await arrived(path, 6);
  expect(typesAt(path).sort()).toEqual([...ALL].sort());
  const data = Object.fromEntries(deliveries.map(({ body }) => [JSON.parse(body).type, JSON.parse(body).data]));
  const key = { id: made.apiKey.id, name: "watched", maskedKey: made.apiKey.maskedKey, teamId: tenant.teamId, createdBy: tenant.userId };
  expect(data).toMatchObject({
    "key.created": { organizationId: tenant.organizationId, apiKey: key },
    "key.removed": { apiKey: key },
    "purchase.completed": { purchase: { amount: 1_000_000, amountUsd: "0.001", method: "test" } },
    "balance.low": { balance: 500, threshold: 1000 },
    "balance.blocked": { balance: -600 },
    "balance.unblocked": { balance: 4400 },
  });
  expect(received.map(({ body }) => body).join()).not.toContain(made.key);
  // And again, after it was lifted above the threshold.
  await credit(tenant, -4000);
  await arrived(path, 7);
  expect(typesAt(path).at(-1)).toBe("balance.low");
  // The mail to the owner is in the log where there is no mail server.
  expect(system.logs().split("are running low").length - 1).toBe(2);
});

test("a call that takes the balance below the threshold delivers balance.low too", async () => {
  const { tenant, path } = await listening(["balance.low"]);
  await ask("PUT", "/api/gw/organizations", { token: tenant.token, body: { lowBalanceThreshold: 1_000_000 } });
  await credit(tenant, 1_000_010);
  for (let count = 0; count < 3; count++)
    expect((await chat(system, tenant.key, "one two three four five six seven eight")).status).toBe(200);
  const [message] = await arrived(path, 1);
  expect(JSON.parse(message?.body ?? "").data.balance).toBeLessThan(1_000_000);
  await sleep(1500);
  expect(typesAt(path)).toEqual(["balance.low"]);
});

test("a deleted webhook receives nothing more", async () => {
  const { tenant, path, id } = await listening(["key.created"]);
  expect((await ask("DELETE", `/api/gw/webhooks/${id}`, { token: tenant.token })).body).toEqual({ deleted: true, id });
  await ask("POST", "/api/gw/api-keys", { token: tenant.token, body: { name: "after deletion", team_id: tenant.teamId } });
  await sleep(2500);
  expect(typesAt(path)).toEqual([]);
  expectError(await ask("DELETE", `/api/gw/webhooks/${id}`, { token: tenant.token }), 404, "NOT_FOUND");
});

test("members of the organization may not", async () => {
  const { tenant, id } = await listening();
  const member = await newTenant(system);
  await joinTeam(system, { from: tenant, guest: member, teamId: tenant.teamId, role: "admin" });
  await ask("PUT", "/api/gw/organizations", { token: member.token, body: { id: tenant.organizationId, active: true } });
  for (const [method, path, body] of [
    ["GET", "/api/gw/webhooks", undefined],
    ["POST", "/api/gw/webhooks", { url, events: ["key.created"] }],
    ["DELETE", `/api/gw/webhooks/${id}`, undefined],
    ["POST", `/api/gw/webhooks/${id}/test`, undefined],
    ["GET", `/api/gw/webhooks/${id}/deliveries`, undefined],
  ] as const) {
    expectError(await ask(method, path, { token: member.token, ...(body ? { body } : {}) }), 403, "FORBIDDEN");
  }
});

test.each([
  ["url", { url: "not an address" }],
  ["url", { url: "ftp://hooks.example.org" }],
  ["url", { url: "https://user:secret@hooks.example.org" }],
  ["url", { url: "http://169.254.169.254/latest/meta-data" }],
  ["url", { url: `https://hooks.example.org/${"x".repeat(3000)}` }],
  ["events", { events: [] }],
  ["events", { events: ["everything"] }],
])("a bad %s is 400", async (field, change) => {
  const answer = await create(await newTenant(system), { url: "https://hooks.example.org", events: ["key.created"], ...change });
  expectError(answer, 400, "VALIDATION_ERROR", field);
});

test("there is an end to how many", async () => {
  const tenant = await newTenant(system);
  const make = () => create(tenant, { url, events: ["balance.blocked"] });
  for (let count = 0; count < 20; count++) expect((await make()).status).toBe(201);
  expectError(await make(), 400, "VALIDATION_ERROR");
});

test("what fails is tried again under the same id, and survives a control plane that is killed", async () => {
  const listener = await listening(["key.created"]);
  const { tenant, path } = listener;
  failures.set(path, 1);
  await ask("POST", "/api/gw/api-keys", { token: tenant.token, body: { name: "again", team_id: tenant.teamId } });
  await arrived(path, 1);
  await within(
    5000,
    () => deliveries(listener),
    ({ body }) => body.data[0].attempts === 1,
  );
  await system.killControlPlane();
  const [first, second] = await arrived(path, 2);
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  const log = await within(
    10_000,
    () => deliveries(listener),
    ({ status, body }) => status === 200 && body.data[0].status === "delivered",
  );
  expect(log.body.data).toMatchObject([{ attempts: 2, httpStatus: 204 }]);
});
