import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";

/** 10 and 20 tokens at 1 and 2 USD for a million. Without `max_tokens` a call could cost 5,000 times as much. */
const COST = 50_000;
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

let folder: string;
let upstream: Server;
let config: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-sequence-"));
  upstream = createServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    const choices = [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }];
    response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "ok", choices, usage: USAGE }));
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const params = {
    model: "openai/ok",
    api_base: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`,
    api_key: "k",
    input_cost_per_token: 0.000001,
    output_cost_per_token: 0.000002,
  };
  config = join(folder, "config.yaml");
  writeFileSync(config, JSON.stringify({ model_list: [{ model_name: "ok", litellm_params: params }] }));
});
afterAll(() => {
  upstream?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Calls of a client that waits for each answer, over a new connection for each, so that both edges serve it. */
async function inTurn(system: System, key: string, { calls, ...more }: { calls: number; max_tokens?: number }): Promise<number[]> {
  const statuses: number[] = [];
  for (let made = 0; made < calls; made++) {
    const body = { model: "ok", messages: [{ role: "user", content: "hi" }], ...more };
    const { status, text } = await call(system.url, "POST", "/v1/chat/completions", { key, body, headers: { connection: "close" } });
    if (status !== 200 && status !== 429) throw new Error(`${status}: ${text}`);
    statuses.push(status);
  }
  return statuses;
}

async function limitedKey(system: System, { token, teamId }: Tenant, limits: object): Promise<string> {
  const { body } = await call(system.url, "POST", "/api/gw/api-keys", { token, body: { name: "limited", team_id: teamId, ...limits } });
  return body.key;
}

const served = (count: number) => new Array<number>(count).fill(200);

describe.each(["document", "strict"])("a client that waits for each answer, with two edges and the policy %s", (policy) => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem({ edges: 2, env: { CONFIG: config, CREDIT_POLICY: policy } });
  });
  afterAll(() => system?.stop());

  test.each([1, 2, 4])("is never refused for %d call(s) at once: a call that is over does not run", async (maxParallelRequests) => {
    const tenant = await newTenant(system, { creditNano: 20_000_000_000 });
    const key = await limitedKey(system, tenant, { maxParallelRequests });
    expect(await inTurn(system, key, { calls: 20 })).toEqual(served(20));
  });

  test("can spend the budget of its key to the end", async () => {
    const tenant = await newTenant(system, { creditNano: 20_000_000_000 });
    const key = await limitedKey(system, tenant, { maxBudget: 20 * COST });
    expect(await inTurn(system, key, { calls: 22 })).toEqual([...served(20), 429, 429]);
  });

  test("can spend the credit of its organization, wherever edges have it in advance", async () => {
    const tenant = await newTenant(system, { creditNano: 100 * COST });
    expect(await inTurn(system, tenant.key, { calls: 40, ...(policy === "strict" ? { max_tokens: 1_000 } : {}) })).toEqual(served(40));
  });

  test("meets a limit of tokens with what its answers had, not only its prompts", async () => {
    const tenant = await newTenant(system, { creditNano: 20_000_000_000 });
    const key = await limitedKey(system, tenant, { tpm: 3000 });
    let admitted = 0;
    while (admitted < 600 && (await inTurn(system, key, { calls: 1 }))[0] === 200) admitted++;
    // 30 tokens each, of which the edge counts five before the call; the answers of the last quarter of a second may not have been reported.
    expect(admitted).toBeGreaterThanOrEqual(100);
    expect(admitted).toBeLessThan(400);
  });
});
