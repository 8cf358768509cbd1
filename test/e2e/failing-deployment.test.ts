import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminToken, call } from "../helpers/api.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";
import { allPages } from "./ledger-checks.ts";

const CALLS = 250;
const AT_ONCE = 25;

/** Ways in which the first of two deployments fails; each for a quarter of 1,000 calls. */
const FAILURES = ["status-500", "status-429", "reset", "hang"] as const;

let folder: string;
let upstream: Server;
let system: System;
const asked = new Map<string, number>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-failing-"));
  upstream = createServer(answer);
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const file = join(folder, "config.yaml");
  writeFileSync(file, configText(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`));
  system = await startSystem({ env: { CONFIG: file } });
});

afterAll(async () => {
  await system.stop();
  upstream.closeAllConnections();
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each(FAILURES)(
  "with one of two deployments failing by %s no call fails that the other could answer, and the counts add up",
  async (failure) => {
    const outcomes = await inParallel(CALLS, AT_ONCE, (index) =>
      call(system.url, "POST", "/v1/chat/completions", {
        key: MASTER_KEY,
        body: { model: failure, stream: index % 2 === 0, messages: [{ role: "user", content: "hello" }] },
      }),
    );
    const failed = outcomes.filter(({ status, text }) => status !== 200 || !text.includes("pong") || text.includes('"error"'));
    expect(failed.map(({ status, text }) => [status, text.slice(0, 200)])).toEqual([]);
    // Each call makes one attempt, and one more for every retry and fallback in its headers: as many as the upstream received.
    const attempts = outcomes.reduce(
      (sum, { headers }) => sum + 1 + count(headers, "x-gw-attempted-retries") + count(headers, "x-gw-attempted-fallbacks"),
      0,
    );
    const seen = (asked.get(`${failure}-bad`) ?? 0) + (asked.get(`${failure}-good`) ?? 0);
    process.stdout.write(
      `${failure}: ${CALLS} calls, ${seen} attempts, ${asked.get(`${failure}-bad`)} at the failing deployment, 0 failures\n`,
    );
    expect(attempts).toBe(seen);
    expect(asked.get(`${failure}-bad`)).toBeGreaterThan(0);
  },
  120_000,
);

test("when every deployment fails, the upstream gets no more attempts than retries allow, and the caller gets one error", async () => {
  const outcomes = await inParallel(40, 8, () =>
    call(system.url, "POST", "/v1/chat/completions", {
      key: MASTER_KEY,
      body: { model: "all-bad", messages: [{ role: "user", content: "x" }] },
    }),
  );
  for (const { status, body } of outcomes) {
    expect([429, 503]).toContain(status);
    expect(body.error).toMatchObject({ message: expect.any(String), type: expect.any(String) });
  }
  expect(asked.get("all-bad-bad") ?? 0).toBeLessThanOrEqual(40 * 3 * 1.1);
  const verified = await call(system.url, "GET", "/api/admin/ledger/verify", { token: await adminToken(system) });
  expect(verified.body).toMatchObject({ ok: true, sum: 0 });
});

interface LoggedCall {
  readonly model: string;
  readonly attempts: number;
  readonly deploymentId: string;
  readonly reserved: number;
  readonly attemptsDetail: readonly { deploymentId: string; status: number | null; errorText: string | null; latencyMs: number }[];
}

async function logsOf(wanted: string): Promise<LoggedCall[]> {
  const rows = await allPages<LoggedCall>(system, await adminToken(system), "/api/gw/logs");
  return rows.filter(({ model }) => model === wanted);
}

test("a call's log names every attempt with what the provider answered, and what was reserved", async () => {
  const rows = await logsOf("status-500");
  for (const { attempts, attemptsDetail, deploymentId, reserved } of rows) {
    expect([attemptsDetail.length, attemptsDetail.at(-1)?.deploymentId, attemptsDetail.at(-1)?.errorText]).toEqual([
      attempts,
      deploymentId,
      null,
    ]);
    expect(reserved).toBeGreaterThan(0);
  }
  const retried = rows.filter(({ attempts }) => attempts > 1);
  expect(retried.length).toBeGreaterThan(0);
  for (const { attemptsDetail } of retried)
    expect(attemptsDetail.slice(0, -1).map(({ status, errorText }) => [status, errorText])).toEqual(
      attemptsDetail.slice(0, -1).map(() => [500, expect.stringContaining("UPSTREAM_UNAVAILABLE")]),
    );
  const [failed] = await logsOf("all-bad");
  expect(failed?.attemptsDetail.every(({ errorText }) => errorText !== null)).toBe(true);
});

function answer(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { model, stream } = JSON.parse(Buffer.concat(parts).toString()) as { model: string; stream?: boolean };
    asked.set(model, (asked.get(model) ?? 0) + 1);
    if (model.endsWith("-good")) return pong(response, stream === true);
    fail(model.replace(/-bad$/, ""), response);
  });
}

function fail(failure: string, response: ServerResponse): void {
  if (failure === "reset") {
    // Headers and half an event, then nothing: no content was visible yet.
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: {");
    setImmediate(() => response.destroy());
  } else if (failure !== "hang") {
    response.writeHead(failure === "status-429" ? 429 : 500, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "not now", type: "server_error" } }));
  }
}

function pong(response: ServerResponse, stream: boolean): void {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  response.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" });
  if (!stream) {
    response.end(
      JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: "pong" }, finish_reason: "stop" }], usage }),
    );
    return;
  }
  response.write(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", content: "pong" }, finish_reason: null }] })}\n\n`,
  );
  response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`);
  response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
}

function configText(base: string): string {
  const entry = (group: string, model: string) => `  - model_name: ${group}
    litellm_params: {model: openai/${model}, api_base: "${base}", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002, timeout: 2}
`;
  const pairs = FAILURES.map((failure) => entry(failure, `${failure}-bad`) + entry(failure, `${failure}-good`)).join("");
  return `model_list:\n${pairs}${entry("all-bad", "all-bad-bad")}router_settings: {num_retries: 2}\n`;
}

async function inParallel<T>(total: number, atOnce: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < total; index = next++) results.push(await work(index));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

function count(headers: Headers, name: string): number {
  return Number(headers.get(name) ?? Number.NaN);
}
