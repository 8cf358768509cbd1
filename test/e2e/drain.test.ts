import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { writeGatewayConfig } from "../clients/conformance/gateway-config.ts";
import { call, newTenant, type Tenant } from "../helpers/api.ts";
import { LONG_STREAM } from "../helpers/fake-upstream/scripts.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { expectConsistentLedger } from "./ledger-checks.ts";

/** A stream of `drip` takes 5 s: one of which half has come fits into the two times together, a new one does not. */
const [DRAIN_DELAY_MS, DRAIN_MS] = [1500, 2000];

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

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

test("an edge that is told to stop is not ready but serves, then lets streams end, and ends the ones that take too long with an error event", async () => {
  const first = await startStream();
  await until(() => first.read.text.length > LONG_STREAM.slice(0, 100).join("").length);
  const second = await startStream();
  await until(() => second.read.text !== "");
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
  expect(await exited).toMatchObject({ code: 0 });

  await system.restartEdge(0);
  const { body } = await call(system.url, "GET", "/api/gw/logs", { token: tenant.token });
  const rows = (body.data as { model: string; status: string; usage: { output: number } }[]).filter(({ model }) => model === "oai-drip");
  expect(rows.map(({ status }) => status).sort()).toEqual(["error", "success"]);
  for (const { usage } of rows) expect(usage.output).toBeGreaterThan(0);
  await expectConsistentLedger(system, tenant.token);
});
