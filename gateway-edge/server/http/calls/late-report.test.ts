import { request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { abortSignalOf } from "../../../../common/cancel.ts";
import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const WORDS = ["one", " two", " three", " four"];
const REASONING = 5000;

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

/** A client that leaves with the last word. The provider ends `afterMs` later, with a report of hidden reasoning; returns the settled row. */
async function leaveBefore({ afterMs }: { afterMs: number }) {
  const seen = { abortedMs: undefined as number | undefined, leftMs: 0 };
  const frame = (fields: object) => Buffer.from(`data: ${JSON.stringify(fields)}\n\n`);
  const word = (content: string) => frame({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const send: Send = async (_request, signal) => {
    const aborted = abortSignalOf(signal);
    aborted.addEventListener("abort", () => {
      seen.abortedMs = performance.now();
    });
    return {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: (async function* () {
        for (const content of WORDS) yield word(content);
        await left;
        await delay(afterMs, undefined, { signal: aborted });
        const completion_tokens = WORDS.length + REASONING;
        const details = { completion_tokens_details: { reasoning_tokens: REASONING } };
        const usage = { prompt_tokens: 7, completion_tokens, total_tokens: 7 + completion_tokens, ...details };
        yield Buffer.concat([frame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }), frame({ choices: [], usage })]);
        yield Buffer.from("data: [DONE]\n\n");
      })(),
    };
  };
  const control = new FakeControl();
  control.deployments = [deployment({ modelName: "thinker", providerKind: "openai", inferenceModelId: "o9", apiKey: "up", params: "{}" })];
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const body = { model: "thinker", stream: true, max_tokens: 10_000, messages: [{ role: "user", content: "Think." }] };
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const request = httpRequest(`${edge.url}/v1/chat/completions`, { method: "POST", headers }).on("error", () => {});
  request.on("response", (response) => {
    let text = "";
    response.on("error", () => {});
    response.on("data", (bytes: Buffer) => {
      text += String(bytes);
      if (!text.includes(" four")) return;
      request.destroy();
      seen.leftMs = performance.now();
      leave();
    });
  });
  request.end(JSON.stringify(body));
  for (let attempt = 0; attempt < 500 && control.settled.size === 0; attempt++) await delay(10);
  const [row] = control.settled.values();
  return { row, ...seen };
}

test("a client that leaves with the last word pays for the hidden reasoning before it, as the report says that comes right after", async () => {
  const { row } = await leaveBefore({ afterMs: 50 });
  expect(row).toMatchObject({ status: "cancelled", usage: { input: 7n, reasoning: BigInt(REASONING), source: "estimated" } });
  expect(Number(row?.usage?.output)).toBe(WORDS.length);
});

test("without a report in time the upstream is aborted within a second, and what was delivered is paid", async () => {
  const { row, abortedMs, leftMs } = await leaveBefore({ afterMs: 60_000 });
  expect((abortedMs ?? Number.POSITIVE_INFINITY) - leftMs).toBeLessThan(1000);
  expect(row).toMatchObject({ status: "cancelled", usage: { output: BigInt(WORDS.length), reasoning: 0n } });
  // The wait is not the gateway's own.
  expect(Number(row?.overheadUs)).toBeLessThan(400_000);
});
