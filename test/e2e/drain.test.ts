import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { writeGatewayConfig } from "../clients/conformance/gateway-config.ts";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { LONG_STREAM } from "../helpers/fake-upstream/scripts.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { freePort } from "../helpers/processes.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { expectConsistentLedger } from "./ledger-checks.ts";

/** A stream of `drip` takes 5 s: the last third of one fits into the two times together, also on a busy machine, and a new one does not. */
const [DRAIN_DELAY_MS, DRAIN_MS] = [1500, 2000];

const RESTARTING = { message: expect.stringContaining("restarting") };

let folder: string;
let fake: FakeUpstream;
let system: System;
let tenant: Tenant;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-drain-"));
  fake = await startFakeUpstream();
  const env = { CONFIG: writeGatewayConfig(folder, fake.url), DRAIN_DELAY_MS: String(DRAIN_DELAY_MS), DRAIN_MS: String(DRAIN_MS) };
  system = await startSystem({ env });
  tenant = await newTenant(system, { creditNano: 10_000_000_000 });
});

afterAll(async () => {
  await system?.stop();
  await fake?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A streamed answer, read by the official client. */
async function startStream() {
  const client = new OpenAI({ apiKey: tenant.key, baseURL: `${system.url}/v1`, maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: "oai-drip",
    messages: [{ role: "user", content: "Count." }],
    stream: true,
  });
  const read = { text: "", finish: "" };
  const ended = (async () => {
    for await (const { choices } of stream) {
      read.text += choices[0]?.delta.content ?? "";
      read.finish = choices[0]?.finish_reason ?? read.finish;
    }
    return "complete";
  })().catch((error: unknown) => error as InstanceType<typeof OpenAI.APIError>);
  return { read, ended };
}

const ASKED = { model: "oai-drip", max_tokens: 4000, stream: true };
/** Streams of the other dialects. */
const DIALECTS = {
  "/v1/messages": { ...ASKED, messages: [{ role: "user", content: "Count." }] },
  "/v1/responses": { ...ASKED, max_tokens: undefined, input: "Count." },
};

/** The frames of a stream, each of which names its event, when it has ended. */
async function framesOf(path: keyof typeof DIALECTS): Promise<{ events: string[]; last: Record<string, unknown> }> {
  const answer = await fetch(`${system.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
    body: JSON.stringify(DIALECTS[path]),
  });
  const frames = (await answer.text()).split("\n\n").filter((frame) => frame.startsWith("event: "));
  const [event = "", data = ""] = frames.at(-1)?.split("\n") ?? [];
  return { events: [...frames.map((frame) => frame.split("\n")[0] ?? ""), event], last: JSON.parse(data.slice("data: ".length)) };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

test("an edge that gets SIGTERM is not ready but serves, then lets streams end, and ends the ones that take too long with an error event", async () => {
  const first = await startStream();
  await until(() => first.read.text.length > LONG_STREAM.slice(0, 135).join("").length);
  const second = await startStream();
  const others = [framesOf("/v1/messages"), framesOf("/v1/responses")];
  await until(() => second.read.text !== "" && fake.requests.length === 4);
  const [edge] = system.edges;
  const exited = edge?.stop("SIGTERM");

  await until(async () => (await fetch(`${system.url}/health/readiness`)).status === 503);
  const late = await fetch(`${system.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "echo", messages: [{ role: "user", content: "Still there?" }] }),
  });
  expect([late.status, late.headers.get("connection")]).toEqual([200, "close"]);

  expect([await first.ended, first.read.text, first.read.finish]).toEqual(["complete", LONG_STREAM.join(""), "stop"]);
  expect(await second.ended).toMatchObject({ code: "service_unavailable", message: expect.stringContaining("restarting") });
  expect(LONG_STREAM.join("").startsWith(second.read.text)).toBe(true);
  const [message, response] = await Promise.all(others);
  expect(message).toMatchObject({
    events: expect.arrayContaining(["event: content_block_delta"]),
    last: { type: "error", error: RESTARTING },
  });
  expect(response).toMatchObject({
    events: expect.arrayContaining(["event: response.output_text.delta"]),
    last: { type: "response.failed", response: { status: "failed", error: RESTARTING } },
  });
  expect(await exited).toMatchObject({ code: 0 });

  await system.restartEdge(0);
  const { body } = await call(system.url, "GET", "/api/gw/logs", { token: tenant.token });
  const rows = (body.data as { model: string; status: string; usage: { output: number } }[]).filter(({ model }) => model === "oai-drip");
  expect(rows.map(({ status }) => status).sort()).toEqual(["error", "error", "error", "success"]);
  for (const { usage } of rows) expect(usage.output).toBeGreaterThan(0);
  await expectConsistentLedger(system, tenant.token);
});

test("an edge that gets SIGTERM waits for a call under an Idempotency-Key whose client has left; the client finds the answer", async () => {
  const url = `${system.url}/v1/chat/completions`;
  const body = JSON.stringify({ ...ASKED, messages: [{ role: "user", content: "Count." }] });
  const headers = { authorization: `Bearer ${tenant.key}`, "content-type": "application/json", "idempotency-key": "across-a-restart" };
  const asked = fake.requests.length;
  const client = httpRequest(url, { method: "POST", headers, agent: false }).end(body);
  client.on("error", () => {});
  const [answer] = (await once(client, "response")) as [IncomingMessage];
  let text = "";
  answer.on("data", (bytes: Buffer) => {
    text += bytes.toString();
  });
  await until(() => text.includes("150,"));
  client.destroy();
  const [edge] = system.edges;
  expect(await edge?.stop("SIGTERM")).toMatchObject({ code: 0 });

  await system.restartEdge(0);
  const again = await fetch(url, { method: "POST", headers, body });
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  expect((await again.text()).trimEnd().endsWith("data: [DONE]")).toBe(true);
  expect(fake.requests.length - asked).toBe(1);
  await expectConsistentLedger(system, tenant.token);
});

test("a control plane that gets SIGTERM is not ready but answers, then ends its watches and exits at once; a second signal ends any process at once", async () => {
  const metrics = `http://127.0.0.1:${await freePort()}`;
  await system.restartControlPlane({ METRICS_PORT: new URL(metrics).port });
  const probe = async (path: string) => (await fetch(`${metrics}${path}`)).status;
  const answered = async () => (await call(system.url, "GET", "/api/auth/me", { token: tenant.token })).status;
  await until(async () => (await answered()) === 200);
  expect([await probe("/ready"), await probe("/healthz")]).toEqual([200, 200]);

  const stopping = performance.now();
  const exited = system.controlPlane.stop("SIGTERM");
  await until(async () => (await probe("/ready")) === 503);
  expect(await probe("/healthz")).toBe(200);
  expect(await answered()).toBe(200);
  expect(await exited).toMatchObject({ code: 0 });
  // An edge watches; without the end of its watch the control plane would wait for the edge to lose patience.
  expect(performance.now() - stopping).toBeLessThan(DRAIN_DELAY_MS + 4000);

  const [edge] = system.edges;
  process.kill(edge?.pid ?? 0, "SIGTERM");
  await until(async () => (await fetch(`${system.url}/health/readiness`)).status === 503);
  expect(await edge?.stop("SIGTERM")).toMatchObject({ code: 1 });
});
