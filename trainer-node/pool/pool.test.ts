import { silentLogger } from "../../common/logger.ts";
import { type ComputePool, createPool } from "./pool.ts";

const HOSTILE = new URL("./__fixtures__/hostile-worker.ts", `file://${__filename}`);
let pool: ComputePool;

function open(options: { threads?: number; queueMax?: number; taskTimeoutMs?: number } = {}): ComputePool {
  pool = createPool({
    threads: options.threads ?? 1,
    queueMax: options.queueMax ?? 8,
    taskTimeoutMs: options.taskTimeoutMs ?? 20_000,
    workerHeapMb: 64,
    workerData: { fallback: undefined },
    logger: silentLogger,
    workerUrl: HOSTILE,
  });
  return pool;
}

async function run(what: string, signal = new AbortController().signal): Promise<string> {
  const body = new TextEncoder().encode(what);
  const answer = await pool.run({ type: "call", operation: "train", body, seed: 1 }, { signal });
  return new TextDecoder().decode(answer.body);
}

afterEach(async () => {
  await pool.close();
});

describe("the compute pool", () => {
  test.each(["x", "t", "m"])(
    "a task that ends its thread (%s) is a FUNCTION_ERROR, and neither its neighbor nor the next task notices",
    async (how) => {
      open({ threads: 2 });
      const neighbor = run("sleep");
      await expect(run(how)).rejects.toMatchObject({ kind: "FUNCTION_ERROR", status: 500 });
      await expect(neighbor).resolves.toBe("slept");
      await expect(run("ok")).resolves.toBe("fine");
    },
  );

  test("a thread out of its limit of work is stopped with TIMEOUT and its place is free again", async () => {
    open({ taskTimeoutMs: 400 });
    await pool.warmUp();
    await expect(run("loop")).rejects.toMatchObject({ kind: "TIMEOUT", status: 504 });
    expect(pool.load()).toMatchObject({ running: 0, queued: 0 });
    await expect(run("ok")).resolves.toBe("fine");
  });

  test("a task does not wait for one that runs: a thread is started for it, up to their number", async () => {
    open({ threads: 2 });
    await pool.warmUp();
    const client = new AbortController();
    const endless = run("loop", client.signal);
    for (let task = 0; task < 3; task++) await expect(run("ok")).resolves.toBe("fine");
    client.abort();
    await expect(endless).rejects.toMatchObject({ name: "TrainerError" });
  });

  test("work is stopped when the caller leaves, even in an endless loop", async () => {
    open();
    const client = new AbortController();
    const work = run("loop", client.signal);
    setTimeout(() => client.abort(), 200);
    await expect(work).rejects.toMatchObject({ name: "TrainerError" });
    await expect(run("ok")).resolves.toBe("fine");
  });

  test.each([0, 2])("with a queue of %i, exactly one more than threads and queue is refused as BUSY", async (queueMax) => {
    open({ threads: 1, queueMax });
    const taken = Array.from({ length: 1 + queueMax }, () => run("sleep"));
    expect(pool.load()).toMatchObject({ running: 1, queued: queueMax });
    await expect(run("ok")).rejects.toMatchObject({ kind: "BUSY", status: 503, retryAfterSeconds: expect.any(Number) });
    await expect(Promise.all(taken)).resolves.toHaveLength(1 + queueMax);
    await expect(run("ok")).resolves.toBe("fine");
  });

  test("a body is moved to its thread, not copied", async () => {
    open();
    const body = new TextEncoder().encode("ok");
    await pool.run({ type: "call", operation: "train", body, seed: 1 }, { signal: new AbortController().signal });
    expect(body.byteLength).toBe(0);
  });

  test("workers see nothing of the environment", async () => {
    open();
    await expect(run("environment")).resolves.toBe("[]");
  });
});
