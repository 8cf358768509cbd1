import { systemClock } from "../common/clock.ts";
import { createIdempotencyStore } from "./idempotency/idempotency-store.ts";
import { type Node, startNode } from "./node-harness.ts";
import { createClosedRounds } from "./rounds/closed-rounds.ts";

let node: Node;
beforeAll(async () => {
  node = await startNode({ threads: 2, bodyBytesMax: 8_000_000, bytesBudget: 100_000_000 });
});
afterAll(() => node.stop());

const ROWS = [
  { a: 0, label: 0 },
  { a: 1, label: 1 },
];

async function send(path: string, body: string | object, headers: Record<string, string> = {}) {
  const response = await fetch(node.url + path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
}

describe("Idempotency-Key", () => {
  const replayed = (answer: { headers: Headers }) => answer.headers.get("idempotent-replayed");

  test("the same call again gives the stored answer, although its seed was random", async () => {
    const key = { "idempotency-key": "same" };
    const first = await send("/train", { dataset: ROWS }, key);
    const second = await send("/train", { dataset: ROWS }, key);
    expect([first.status, replayed(first), second.status, replayed(second)]).toEqual([200, null, 200, "true"]);
    expect(second.body).toEqual(first.body);
    expect((await send("/train", { dataset: ROWS })).body["seed"]).not.toBe(first.body["seed"]);
  });

  test("another body, operation or answer form under the key is a 409", async () => {
    const key = { "idempotency-key": "other" };
    await send("/evaluate", { dataset: ROWS }, key);
    for (const [path, body, more] of [
      ["/evaluate", { dataset: ROWS, round_id: 1 }, {}],
      ["/train", { dataset: ROWS }, {}],
      ["/evaluate", { dataset: ROWS }, { accept: "application/msgpack" }],
    ] as const) {
      expect(await send(path, body, { ...key, ...more })).toMatchObject({ status: 409, body: { code: "IDEMPOTENCY_CONFLICT" } });
    }
  });

  test("a body that streams is compared whole: one byte at its end makes another call", async () => {
    const key = { "idempotency-key": "long" };
    const body = (last: string) => `${JSON.stringify({ dataset: ROWS }).padEnd(3_000_000, " ")}${last}`;
    expect((await send("/evaluate", body(" "), key)).status).toBe(200);
    expect(replayed(await send("/evaluate", body(" "), key))).toBe("true");
    expect((await send("/evaluate", body("\n"), key)).status).toBe(409);
  });

  test("a call that failed is tried again, not replayed", async () => {
    const key = { "idempotency-key": "failed" };
    expect((await send("/train", { dataset: [] }, key)).status).toBe(422);
    expect((await send("/train", { dataset: ROWS }, key)).status).toBe(200);
  });

  test("a call still at work is a 409 with Retry-After, and goes on when its caller leaves", async () => {
    const key = { "idempotency-key": "slow" };
    const body = { dataset: "digits", config: { epochs: 20, batch_size: 1, seed: 1 } };
    const client = new AbortController();
    const left = fetch(`${node.url}/train`, { method: "POST", body: JSON.stringify(body), headers: key, signal: client.signal });
    const outcome = left.catch((error: Error) => error.name);
    while (node.deps.pool.load().running === 0) await systemClock.sleep(2);
    const busy = await send("/train", body, key);
    expect(busy).toMatchObject({ status: 409, body: { code: "IDEMPOTENCY_CONFLICT", details: { status: "running" } } });
    expect(Number(busy.headers.get("retry-after"))).toBeGreaterThan(0);
    client.abort();
    await expect(outcome).resolves.toBe("AbortError");
    while (node.deps.pool.load().running > 0) await systemClock.sleep(5);
    expect(replayed(await send("/train", body, key))).toBe("true");
  });

  test("a job asked for again is the same job", async () => {
    const headers = { "idempotency-key": "job", prefer: "respond-async" };
    const [first, second] = [await send("/train", { dataset: ROWS }, headers), await send("/train", { dataset: ROWS }, headers)];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body["id"]).toBe(first.body["id"]);
  });

  test.each(["", "k".repeat(256)])("a key of another length than 1 to 255 is refused", async (key) => {
    expect(await send("/train", { dataset: ROWS }, { "idempotency-key": key })).toMatchObject({ status: 422 });
  });

  test("answers are forgotten after a day, and the oldest first beyond the limits", () => {
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const kept = createIdempotencyStore({ clock, keysMax: 2, bytesMax: 100 });
    const keep = (key: string, bytes: number) => {
      expect(kept.take(key)).toBeUndefined();
      const answer = { body: new Uint8Array(bytes), head: undefined };
      kept.finish(key, "print", { type: "answer", answer, answerType: "json" });
    };
    keep("a", 10);
    keep("b", 10);
    keep("c", 10);
    keep("a", 95);
    expect(kept.take("a")).toMatchObject({ fingerprint: "print" });
    keep("b", 1);
    nowMs = 24 * 3_600_000 + 1;
    expect(kept.take("a")).toBeUndefined();
  });
});

describe("rounds", () => {
  test("work for a round that was closed is a 409, whichever way the id is written; other rounds and none go on", async () => {
    expect((await send("/train", { dataset: ROWS, round_id: 7 })).status).toBe(200);
    expect(await send("/v1/rounds/7/close", "")).toMatchObject({ status: 200, body: { round_id: "7", status: "closed" } });
    for (const round of [7, "7"]) {
      for (const [path, body] of [
        ["/train", { dataset: ROWS }],
        ["/v1/evaluate", { dataset: ROWS }],
        ["/aggregate", { parameters_list: [] }],
        ["/call", { method: "train", dataset: ROWS }],
      ] as const) {
        expect(await send(path, { ...body, round_id: round })).toMatchObject({
          status: 409,
          body: { code: "ROUND_CLOSED", details: { round_id: round } },
        });
      }
    }
    expect((await send("/train", { dataset: ROWS, round_id: 8 })).status).toBe(200);
    expect((await send("/train", { dataset: ROWS })).status).toBe(200);
    expect((await fetch(`${node.url}/v1/rounds/7/close`, { method: "DELETE" })).status).toBe(200);
    expect((await send("/train", { dataset: ROWS, round_id: 7 })).status).toBe(200);
  });

  test("other methods are refused and ids are bounded", async () => {
    expect((await fetch(`${node.url}/v1/rounds/7/close`)).headers.get("allow")).toBe("DELETE, OPTIONS, POST");
    expect((await send(`/v1/rounds/${"r".repeat(257)}/close`, "")).status).toBe(422);
  });

  test("closed rounds are forgotten after a day, and the oldest first beyond a thousand", () => {
    let nowMs = 0;
    const rounds = createClosedRounds({ clock: { ...systemClock, monotonicMs: () => nowMs } });
    for (let round = 0; round <= 1000; round++) rounds.close(String(round));
    expect(rounds.list()).toHaveLength(1000);
    expect(rounds.list()).not.toContain("0");
    nowMs = 24 * 3_600_000 + 1;
    rounds.close("late");
    expect(rounds.list()).toEqual(["late"]);
  });
});
