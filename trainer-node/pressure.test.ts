import { systemClock } from "../common/clock.ts";
import type { TrainerDeps } from "./deps.ts";
import { type Node, startNode } from "./node-harness.ts";

const ROWS = [
  { a: 0, b: 1, label: 0 },
  { b: 0, a: 1, label: 1 },
];

async function send({ url }: Node, path: string, body: unknown, signal?: AbortSignal) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(url + path, { method: "POST", body: text, ...(signal ? { signal } : {}) });
  return { status: response.status, headers: response.headers, body: (await response.json()) as { code: string; details: unknown } };
}

const long = { dataset: { name: "digits" }, config: { epochs: 1000, batch_size: 1 } };

test("work over its time is a 504, and the node goes on", async () => {
  const slow = await startNode({ threads: 1, taskTimeoutMs: 300 });
  try {
    expect(await send(slow, "/train", long)).toMatchObject({ status: 504, body: { code: "TIMEOUT", details: { timeout_ms: 300 } } });
  } finally {
    await slow.stop();
  }
});

test("a full queue is a 503 with Retry-After, other routes answer meanwhile, and a caller who leaves frees the thread", async () => {
  // A worker that never ends by itself: only the caller's leaving can free it.
  const workerUrl = new URL("./pool/__fixtures__/hostile-worker.ts", `file://${__filename}`);
  const small = await startNode({ threads: 1, queueMax: 0, taskTimeoutMs: 600_000, workerUrl });
  try {
    const client = new AbortController();
    const work = send(small, "/train", "loop", client.signal).catch((error: Error) => error.name);
    while (small.deps.pool.load().running === 0) await systemClock.sleep(5);
    const refused = await send(small, "/evaluate", { dataset: ROWS });
    expect(refused).toMatchObject({ status: 503, body: { code: "BUSY" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await fetch(`${small.url}/health`)).status).toBe(200);
    client.abort();
    await expect(work).resolves.toBe("AbortError");
    while (small.deps.pool.load().running > 0) await systemClock.sleep(5);
    expect((await fetch(`${small.url}/evaluate`, { method: "POST", body: "fine" })).status).toBe(200);
    expect(small.deps.budget.heldBytes).toBe(0);
  } finally {
    await small.stop();
  }
});

test("more bytes than the budget is a 503, and a draining or warming node says so", async () => {
  let state: ReturnType<TrainerDeps["state"]> = "warming";
  const poor = await startNode({ threads: 1, bytesBudget: 50, state: () => state });
  try {
    expect((await fetch(`${poor.url}/ready`)).status).toBe(503);
    expect(await send(poor, "/train", { dataset: ROWS, filler: "x".repeat(50) })).toMatchObject({
      status: 503,
      body: { code: "BUSY" },
    });
    state = "draining";
    expect(await send(poor, "/train", {})).toMatchObject({ status: 503, body: { code: "DRAINING" } });
    expect((await fetch(`${poor.url}/ready`)).status).toBe(503);
  } finally {
    await poor.stop();
  }
});

test("a leaving node is not ready any more, and still accepts work", async () => {
  const leaving = await startNode({ threads: 1, state: () => "leaving" });
  try {
    expect((await fetch(`${leaving.url}/ready`)).status).toBe(503);
    expect((await send(leaving, "/train", { dataset: ROWS })).status).toBe(200);
  } finally {
    await leaving.stop();
  }
});

test.each([{}, { "idempotency-key": "again" }])(
  "a call that a stopping node cannot wait for any longer is given back: 503 with %j",
  async (headers) => {
    const workerUrl = new URL("./pool/__fixtures__/hostile-worker.ts", `file://${__filename}`);
    const cutting = new AbortController();
    const node = await startNode({ threads: 1, taskTimeoutMs: 600_000, workerUrl, cut: cutting.signal });
    try {
      const work = fetch(`${node.url}/train`, { method: "POST", body: "loop", headers });
      while (node.deps.pool.load().running === 0) await systemClock.sleep(5);
      cutting.abort();
      const answer = await work;
      expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
        503,
        "10",
        expect.objectContaining({ code: "DRAINING" }),
      ]);
    } finally {
      await node.stop();
    }
  },
);
