import { setTimeout as delay } from "node:timers/promises";
import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, parseStream, startEdge, type TestEdge } from "./edge-fixture.ts";

const edges: TestEdge[] = [];
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

const LIMIT = 20;

/** An upstream that ignores max_tokens: it sends a number of words, or continues until the client disconnects. */
async function open({ words = Number.POSITIVE_INFINITY, word = "go " } = {}) {
  const seen = { sent: 0, isAborted: false };
  const send: Send = async (_request, signal) => {
    signal.addEventListener("abort", () => {
      seen.isAborted = true;
    });
    const frame = (delta: object, text: string, reason: string | null) =>
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, text, finish_reason: reason }] })}\n\n`);
    async function* speak() {
      for (; seen.sent < words && !signal.aborted; seen.sent++) {
        yield frame({ content: word }, word, null);
        await delay(0);
      }
      if (signal.aborted) return;
      yield frame({}, "", "stop");
      yield Buffer.from("data: [DONE]\n\n");
    }
    return { status: 200, headers: { "content-type": "text/event-stream" }, body: speak() };
  };
  const control = new FakeControl();
  control.deployments = [...control.deployments, deployment({ modelName: "vllm", providerKind: "mistral", inferenceModelId: "ours" })];
  control.deployments.push(deployment({ modelName: "instruct", providerKind: "openai", inferenceModelId: "gpt-3.5-turbo-instruct" }));
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const post = (path: string, body: object) => edge.post(path, { stream: true, ...body }, { authorization: `Bearer ${secret}` });
  return { control, seen, post };
}

const messages = [{ role: "user", content: "say go" }];
type Event = Record<string, unknown>;
const parseEvents = (text: string) => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? "") as Event);

const numberIn = (usage: unknown, name: string) => (usage as Record<string, number> | undefined)?.[name];

const DIALECTS = [
  {
    path: "/v1/chat/completions",
    body: { messages, max_tokens: LIMIT, stream_options: { include_usage: true } },
    read: parseStream,
    end: (events: Event[]) => expect(events.at(-2)).toMatchObject({ choices: [{ delta: {}, finish_reason: "length" }] }),
    usage: (events: Event[]) => numberIn(events.at(-1)?.["usage"], "completion_tokens"),
  },
  {
    path: "/v1/completions",
    body: { prompt: "say go", max_tokens: LIMIT, stream_options: { include_usage: true } },
    read: parseStream,
    end: (events: Event[]) => expect(events.at(-2)).toMatchObject({ choices: [{ finish_reason: "length" }] }),
    usage: (events: Event[]) => numberIn(events.at(-1)?.["usage"], "completion_tokens"),
  },
  {
    path: "/v1/responses",
    body: { input: "say go", max_output_tokens: LIMIT, store: false },
    read: parseEvents,
    end: (events: Event[]) =>
      expect(events.at(-1)).toMatchObject({
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      }),
    usage: (events: Event[]) => numberIn((events.at(-1)?.["response"] as Event | undefined)?.["usage"], "output_tokens"),
  },
  {
    path: "/v1/messages",
    body: { messages, max_tokens: LIMIT },
    read: parseEvents,
    end: (events: Event[]) => expect(events.at(-2)).toMatchObject({ type: "message_delta", delta: { stop_reason: "max_tokens" } }),
    usage: (events: Event[]) => numberIn(events.at(-2)?.["usage"], "output_tokens"),
  },
];

test.each(DIALECTS)(
  "$path: a stream that goes on beyond the agreed limit ends there, well-formed, and is billed for what was delivered",
  async (dialect) => {
    const { control, seen, post } = await open();
    const response = await post(dialect.path, { model: "echo", ...dialect.body });
    const text = await response.text();
    const events = dialect.read(text);
    dialect.end(events);
    expect(text).not.toContain("credits_used_up");
    expect(dialect.usage(events)).toBe(LIMIT);
    const [log] = control.settled.values();
    expect([log?.status, log?.errorCode, Number(log?.usage?.output)]).toEqual(["success", undefined, LIMIT]);
    expect(seen.isAborted).toBe(true);
  },
);

test("/v1/responses of a server that has this API: its events end with an incomplete response, numbered without a gap", async () => {
  let isAborted = false;
  const send: Send = async (_request, signal) => {
    signal.addEventListener("abort", () => {
      isAborted = true;
    });
    let number = 0;
    const frame = (event: object) => Buffer.from(`data: ${JSON.stringify({ sequence_number: number++, ...event })}\n\n`);
    async function* speak() {
      const done = { type: "message", id: "msg_1", status: "completed", content: [{ type: "output_text", text: "first" }] };
      yield frame({ type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } });
      yield frame({ type: "response.output_item.done", output_index: 0, item: done });
      for (; !signal.aborted; ) {
        yield frame({ type: "response.output_text.delta", item_id: "msg_2", output_index: 1, content_index: 0, delta: "go on " });
        await delay(0);
      }
    }
    return { status: 200, headers: { "content-type": "text/event-stream" }, body: speak() };
  };
  const control = new FakeControl();
  control.deployments = [deployment({ modelName: "gpt", providerKind: "openai", inferenceModelId: "gpt-x" })];
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const body = { model: "gpt", stream: true, input: "say go", max_output_tokens: LIMIT, store: false };
  const response = await edge.post("/v1/responses", body, { authorization: `Bearer ${secret}` });
  const events = parseEvents(await response.text());
  expect(events.at(-1)).toMatchObject({
    type: "response.incomplete",
    response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [{ content: [{ text: "first" }] }] },
  });
  expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, index) => index));
  expect(isAborted).toBe(true);
  const [log] = control.settled.values();
  expect([log?.status, Number(log?.usage?.output) > LIMIT / 2]).toEqual(["success", true]);
});

test("where the upstream's vocabulary is not known, a stream is cut only when no reading of it is within the limit", async () => {
  const { seen, post } = await open();
  const body = { model: "vllm", messages, max_tokens: LIMIT };
  const frames = parseStream(await (await post("/v1/chat/completions", body)).text());
  expect(frames.at(-1)).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect([seen.isAborted, seen.sent > LIMIT, seen.sent < 5 * LIMIT]).toEqual([true, true, true]);
  // Long words are one token each to some upstreams.
  const honest = await open({ words: LIMIT, word: "responsi" });
  const all = parseStream(await (await honest.post("/v1/chat/completions", body)).text());
  expect(all.at(-1)).toMatchObject({ choices: [{ finish_reason: "stop" }] });
  expect([honest.seen.isAborted, honest.seen.sent]).toEqual([false, LIMIT]);
});

test("an echoed prompt is no output: the stream is not cut within it, and is cut after it", async () => {
  const prompt = "go ".repeat(500);
  const asked = { model: "instruct", prompt, echo: true, max_tokens: LIMIT };
  const whole = await open({ words: 500 + LIMIT });
  const events = parseStream(await (await whole.post("/v1/completions", asked)).text()) as {
    choices: { text?: string; finish_reason: string }[];
  }[];
  expect(events.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe("go ".repeat(500 + LIMIT));
  expect(events.at(-1)).toMatchObject({ choices: [{ finish_reason: "stop" }] });
  const endless = await open();
  const cut = parseStream(await (await endless.post("/v1/completions", asked)).text());
  expect(cut.at(-1)).toMatchObject({ choices: [{ finish_reason: "length" }] });
});
