import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { abortSignalOf } from "../../../../common/cancel.ts";
import { systemClock } from "../../../../common/clock.ts";
import type { Send } from "../../../upstream/providers/provider.ts";
import { FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const PATH = "/v1/chat/completions";
const BODY = { model: "echo", messages: [{ role: "user", content: "hello" }] };
const STREAMED = { ...BODY, stream: true };
const WORDS = ["one", " two", " three", " four"];

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

/** A provider that says a word whenever it is told to, and counts how often it is called. */
async function open() {
  const state = { calls: 0, waiting: [] as (() => void)[], isFree: false };
  const go = (signal: AbortSignal) =>
    state.isFree
      ? Promise.resolve()
      : new Promise<void>((resolve, reject) => {
          state.waiting.push(resolve);
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        });
  const frame = (choice: object, more: object = {}) => Buffer.from(`data: ${JSON.stringify({ choices: [choice], ...more })}\n\n`);
  const control = new FakeControl();
  const send: Send = async (request, signal) => {
    state.calls++;
    const isStream = String(request.body).includes('"stream":true');
    const usage = { prompt_tokens: 1, completion_tokens: WORDS.length, total_tokens: 1 + WORDS.length };
    return {
      status: 200,
      headers: { "content-type": isStream ? "text/event-stream" : "application/json" },
      body: (async function* () {
        for (const content of WORDS) {
          await go(abortSignalOf(signal));
          if (isStream) yield frame({ index: 0, delta: { content }, finish_reason: null });
        }
        const message = { role: "assistant", content: WORDS.join("") };
        if (isStream)
          yield Buffer.concat([frame({ index: 0, delta: {}, finish_reason: "stop" }, { usage }), Buffer.from("data: [DONE]\n\n")]);
        else yield Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
      })(),
    };
  };
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const next = async () => {
    await until(() => state.waiting.length > 0);
    state.waiting.shift()?.();
  };
  return { edge, control, state, next, headers: { authorization: `Bearer ${secret}`, "idempotency-key": "once" } };
}

async function until(condition: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 500 && !condition(); attempt++) await delay(10);
  expect(condition()).toBe(true);
}

/** A call whose connection can be cut. */
function start(edge: TestEdge, { headers, body }: { headers: Record<string, string>; body: object }) {
  const request = httpRequest(edge.url + PATH, { method: "POST", headers: { ...headers, "content-type": "application/json" } });
  request.on("error", () => {});
  request.end(JSON.stringify(body));
  return request;
}

test.each([
  ["streamed", STREAMED],
  ["whole", BODY],
])(
  "the client of a %s call under an Idempotency-Key that loses its connection gets the answer when it asks again, billed once",
  async (_name, body) => {
    const { edge, control, state, next, headers } = await open();
    const request = start(edge, { headers, body });
    await next();
    if (body === STREAMED) await once(request, "response");
    request.destroy();
    await delay(50);
    state.isFree = true;
    for (const resolve of state.waiting.splice(0)) resolve();
    await until(() => control.settled.size === 1);
    await until(() => control.stored.size > 0 && [...control.stored.values()].every(({ answer }) => answer !== undefined));
    const again = await edge.post(PATH, body, headers);
    expect(again.status).toBe(200);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const text = await again.text();
    if (body === STREAMED) expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    for (const word of body === STREAMED ? WORDS : [WORDS.join("")]) expect(text).toContain(JSON.stringify(word));
    expect(state.calls).toBe(1);
    expect([...control.settled.values()]).toMatchObject([{ status: "success", httpStatus: 200, usage: { output: BigInt(WORDS.length) } }]);
  },
);

test("a call that goes on without its client and is cut frees its key", async () => {
  const { edge, control, next, headers } = await open();
  const request = start(edge, { headers, body: STREAMED });
  await next();
  await once(request, "response");
  request.destroy();
  await delay(50);
  const closed = edge.openCalls.closed(systemClock, 0);
  await until(() => control.settled.size === 1);
  expect([...control.settled.values()]).toMatchObject([{ status: expect.not.stringMatching("success") }]);
  await closed;
  expect(control.stored.size).toBe(0);
});
