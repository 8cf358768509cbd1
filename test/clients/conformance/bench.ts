import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { setBalance } from "../../e2e/ledger-checks.ts";
import { adminToken, buy, call, newTenant, type Tenant } from "../../helpers/api.ts";
import { type FakeUpstream, startFakeUpstream } from "../../helpers/fake-upstream/server.ts";
import { type System, startSystem } from "../../helpers/system.ts";
import { writeGatewayConfig } from "./gateway-config.ts";

/** A whole gateway before a fake upstream, with a key for every way in which a key can be. */
export interface Bench {
  readonly fake: FakeUpstream;
  readonly system: System;
  /** With /v1. */
  readonly baseUrl: string;
  readonly tenant: Tenant;
  readonly key: string;
  /** May use `oai` only. */
  readonly restrictedKey: string;
  readonly blockedKey: string;
  readonly emptyKey: string;
  /** Three requests a minute, one key for each client. */
  readonly limitedKeys: readonly string[];
  stop(): Promise<void>;
}

export async function startBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-conformance-"));
  const fake = await startFakeUpstream();
  const system = await startSystem({ env: { CONFIG: writeGatewayConfig(folder, fake.url) } });
  const [tenant, blocked, empty] = [await newTenant(system), await newTenant(system), await newTenant(system)];
  for (const { token } of [tenant, blocked]) await buy(system, token, 50_000_000_000);
  await setBalance(system, empty, 0);
  const block = await call(system.url, "POST", `/api/admin/teams/${blocked.teamId}/block`, { token: await adminToken(system), body: {} });
  if (block.status !== 200) throw new Error(`blocking answered ${block.status}: ${block.text}`);
  const newKey = async (name: string, limits: object): Promise<string> => {
    const body = { name, team_id: tenant.teamId, ...limits };
    const made = await call(system.url, "POST", "/api/gw/api-keys", { token: tenant.token, body });
    if (made.status !== 201) throw new Error(`a key answered ${made.status}: ${made.text}`);
    return made.body.key;
  };
  return {
    fake,
    system,
    baseUrl: `${system.url}/v1`,
    tenant,
    key: tenant.key,
    restrictedKey: await newKey("restricted", { models: ["oai"] }),
    blockedKey: blocked.key,
    emptyKey: empty.key,
    limitedKeys: [await newKey("limited 1", { rpm: 3 }), await newKey("limited 2", { rpm: 3 })],
    async stop() {
      await system.stop();
      await fake.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An official client, and how often it went to the wire. */
export interface CountedClient {
  readonly openai: OpenAI;
  attempts: number;
}

/** Retries are the client's default unless a case says otherwise. */
export function nodeClient(bench: Bench, options: ConstructorParameters<typeof OpenAI>[0] = {}): CountedClient {
  const counting: typeof fetch = (input, init) => {
    counted.attempts++;
    return fetch(input, init);
  };
  const counted = { openai: new OpenAI({ apiKey: bench.key, baseURL: bench.baseUrl, fetch: counting, ...options }), attempts: 0 };
  return counted;
}

export const user = (content: string) => [{ role: "user" as const, content }];

export const WEATHER = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "The weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
export const TIME = { type: "function" as const, function: { name: "get_time", parameters: { type: "object", properties: {} } } };

/** The frames of a stream as they are on the wire. */
export async function rawStream(
  bench: Bench,
  body: object,
  signal?: AbortSignal,
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(`${bench.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${bench.key}`, "content-type": "application/json" },
    body: JSON.stringify({ messages: user("hi"), stream: true, ...body }),
    ...(signal ? { signal } : {}),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** Waits until something holds; fails after the given time. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`did not hold within ${withinMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface LogRow {
  callId: string;
  status: string;
  cost: number;
  usage: { input: number; cachedInput: number; cacheWrite: number; output: number; total: number; source: string };
}

/** The bill of a call, once the books have it. */
export async function logOf(bench: Bench, callId: string | null): Promise<LogRow> {
  let found: LogRow | undefined;
  await until(async () => {
    const answer = await call(bench.system.url, "GET", "/api/gw/logs?pageSize=100", { token: bench.tenant.token });
    found = (answer.body.data as LogRow[]).find((row) => row.callId === callId);
    return found !== undefined;
  }, 5_000);
  return found as LogRow;
}
