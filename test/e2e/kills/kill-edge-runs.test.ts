import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { writeGatewayConfig } from "../../clients/conformance/gateway-config.ts";
import { type Answer, call, newTenant, type Tenant } from "../../helpers/api.ts";
import { LONG_STREAM } from "../../helpers/fake-upstream/scripts.ts";
import { type FakeUpstream, startFakeUpstream } from "../../helpers/fake-upstream/server.ts";
import { type System, startSystem } from "../../helpers/system.ts";
import { expectConsistentLedger, printLine } from "../ledger-checks.ts";

const RUNS = 8;
const BATCHES = 3;
/** A dead edge's lease, then the whole answer again: five seconds of it. */
const PATIENCE_MS = 45_000;

let folder: string;
let fake: FakeUpstream;
let system: System;
let tenant: Tenant;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-kill-runs-"));
  fake = await startFakeUpstream();
  system = await startSystem({ edges: 2, env: { CONFIG: writeGatewayConfig(folder, fake.url) } });
  tenant = await newTenant(system, { creditNano: 10_000_000_000 });
});

afterAll(async () => {
  await system?.stop();
  await fake?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (method: string, path: string, body?: object): Promise<Answer> =>
  call(system.url, method, path, { key: tenant.key, ...(body ? { body } : {}) });

test("an edge that is killed while it runs assistants loses nothing: each thread gets one answer, and each answer is paid once", async () => {
  const { body: assistant } = await ask("POST", "/v1/assistants", { model: "oai-drip", instructions: "Count." });
  const started: StartedRun[] = [];
  // The kernel spreads connections by chance: where all runs went to the other edge, the kill hit nothing and is repeated.
  while (fake.of("drip").length === started.length && started.length < BATCHES * RUNS) {
    const batch = await Promise.all(Array.from({ length: RUNS }, () => startRun(assistant.id)));
    started.push(...batch);
    // In the middle of their answers: an answer drips for seconds.
    while (fake.of("drip").length < started.length) await sleep(20);
    const killedAt = performance.now();
    await system.killEdge(0);
    const ended = await Promise.all(batch.map((run) => untilEnded(run)));
    printLine(
      `kill -9 of an edge with runs: ${fake.of("drip").length - started.length} of ${RUNS} runs taken over, all ended after ${Math.round(performance.now() - killedAt)} ms`,
    );
    expect(ended.map(({ status }) => status)).toEqual(Array(RUNS).fill("completed"));
  }
  // Otherwise the kills hit nothing and the test proved nothing.
  expect(fake.of("drip").length).toBeGreaterThan(started.length);
  for (const { threadId } of started) {
    const { body } = await ask("GET", `/v1/threads/${threadId}/messages?order=asc`);
    expect(body.data.map((message: { role: string }) => message.role)).toEqual(["user", "assistant"]);
    expect(body.data[1].content[0].text.value).toBe(LONG_STREAM.join(""));
  }
  const { entries } = await expectConsistentLedger(system, tenant.token);
  // An answer that the killed edge began is charged when its journal is read; the whole one then costs only the rest.
  const paid = entries.filter(({ type }) => type === "usage").map(({ amount }) => Number(amount));
  const whole = Math.min(...paid);
  expect(paid.reduce((sum, amount) => sum + amount, 0)).toBe(started.length * whole);
});

interface StartedRun {
  readonly threadId: string;
  readonly runId: string;
}

/** Over a connection of its own, so that the runs are spread over the edges. */
async function startRun(assistantId: string): Promise<StartedRun> {
  const body = JSON.stringify({ assistant_id: assistantId, thread: { messages: [{ role: "user", content: "Count to 200." }] } });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), "x-gw-api-key": tenant.key };
  const answer = await new Promise<{ id: string; thread_id: string }>((resolve, reject) => {
    const sent = request(`${system.url}/v1/threads/runs`, { method: "POST", headers, agent: false }, (response) => {
      json(response).then((value) => resolve(value as { id: string; thread_id: string }), reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
  return { threadId: answer.thread_id, runId: answer.id };
}

async function untilEnded({ threadId, runId }: StartedRun): Promise<{ status: string }> {
  const deadline = performance.now() + PATIENCE_MS;
  let last: { status: string } = { status: "never seen" };
  while (performance.now() < deadline) {
    // The connection to the killed edge breaks once.
    const answer = await ask("GET", `/v1/threads/${threadId}/runs/${runId}`).catch(() => undefined);
    if (answer?.status === 200) last = answer.body;
    if (["completed", "failed", "expired", "incomplete", "cancelled"].includes(last.status)) return last;
    await sleep(200);
  }
  return last;
}
