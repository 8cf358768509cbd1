import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, chat, newTenant } from "../helpers/api.ts";
import { type RedisServer, startRedis } from "../helpers/redis.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { expectLedgerVerifies } from "./ledger-checks.ts";

const CONFIG = `
model_list: []
litellm_settings:
  cache: true
  cache_params: {type: redis, ttl: 300}
guardrails:
  - guardrail_name: no-apples
    litellm_params: {guardrail: word-list, mode: [pre_call, post_call], words: [apple]}
`;

let folder: string;
let redis: RedisServer;
let system: System;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-cache-"));
  writeFileSync(join(folder, "config.yaml"), CONFIG);
  redis = await startRedis();
  system = await startSystem({ edges: 2, env: { REDIS_URL: redis.url, CONFIG: join(folder, "config.yaml") } });
}, 240_000);
afterAll(async () => {
  try {
    if (system) await expectLedgerVerifies(system);
  } finally {
    await system?.stop();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

const CREDIT = 1_000_000_000;
const balanceOf = async (token: string) => (await call(system.url, "GET", "/api/balance", { token })).body.balance as number;
const isHit = (headers: Headers) => headers.get("x-gw-cache-key") !== null;

test("a question is answered once for an organization, at every edge, and never for another; both balances say so", async () => {
  const [one, other] = [await newTenant(system, { creditNano: CREDIT }), await newTenant(system, { creditNano: CREDIT })];
  const first = await chat(system, one.key, "the capital of France");
  expect([first.status, isHit(first.headers)]).toEqual([200, false]);
  const paid = CREDIT - (await balanceOf(one.token));
  expect(paid).toBeGreaterThan(0);
  // Each on a connection of its own, so that both edges are asked.
  const headers = { connection: "close" };
  const body = { model: "echo", messages: [{ role: "user", content: "the capital of France" }] };
  const again = await Promise.all(
    Array.from({ length: 20 }, () => call(system.url, "POST", "/v1/chat/completions", { key: one.key, body, headers })),
  );
  expect(again.map(({ status, headers: answered, body: said }) => [status, isHit(answered), said.choices[0].message.content])).toEqual(
    again.map(() => [200, true, first.body.choices[0].message.content]),
  );
  expect(CREDIT - (await balanceOf(one.token))).toBe(paid);
  const elsewhere = await chat(system, other.key, "the capital of France");
  expect([elsewhere.status, isHit(elsewhere.headers)]).toEqual([200, false]);
  expect(CREDIT - (await balanceOf(other.token))).toBe(paid);
  const { body: logs } = await call(system.url, "GET", "/api/gw/logs?pageSize=100", { token: one.token });
  const rows = logs.data as { cacheHit: boolean; cost: number }[];
  expect([rows.length, rows.filter(({ cacheHit, cost }) => cacheHit && cost === 0).length]).toEqual([21, 20]);
  expect(logs.meta.totals).toMatchObject({ requests: 21, cost: paid });
});

test("a guardrail of a team and of a key holds at every edge within a second; null takes it away", async () => {
  const tenant = await newTenant(system, { creditNano: CREDIT });
  const { token, teamId, keyId, key } = tenant;
  const ask = async (content: string, more: object = {}) => (await chat(system, key, content, more)).status;
  expect(await ask("an apple a day")).toBe(200);
  expect(await ask("an apple today", { guardrails: ["no-apples"] })).toBe(400);
  const team = await call(system.url, "PATCH", `/api/gw/teams/${teamId}`, { token, body: { guardrails: ["no-apples"] } });
  expect([team.status, team.body.team.guardrails]).toEqual([200, ["no-apples"]]);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(await ask("another apple")).toBe(400);
  const cleared = await call(system.url, "PATCH", `/api/gw/teams/${teamId}`, { token, body: { guardrails: null } });
  expect(cleared.body.team.guardrails).toBeNull();
  const bound = await call(system.url, "POST", "/api/api-keys/update", { token, body: { apiKey: keyId, guardrails: ["no-apples"] } });
  expect(bound.body.apiKey.guardrails).toEqual(["no-apples"]);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(await ask("one more apple")).toBe(400);
  expect(await ask("one more pear")).toBe(200);
});

test("a Redis that goes away costs no call; answers are asked for again", async () => {
  const tenant = await newTenant(system, { creditNano: CREDIT });
  await chat(system, tenant.key, "before");
  await redis.kill();
  for (let round = 0; round < 3; round++) {
    const answer = await chat(system, tenant.key, "before");
    expect([answer.status, isHit(answer.headers)]).toEqual([200, false]);
  }
  await redis.start();
  const { text } = await call(system.url, "GET", "/metrics");
  expect(text).toMatch(/tributary_cache_failures_total\{edge="\d"\} \d+/);
});
