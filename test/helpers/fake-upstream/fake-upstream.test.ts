import { createHash } from "node:crypto";
import { readAwsEventStream } from "../../../gateway-edge/upstream/providers/shared/aws-event-stream.ts";
import type { Json } from "./dialect.ts";
import { type FakeUpstream, startFakeUpstream } from "./server.ts";

let fake: FakeUpstream;

beforeAll(async () => {
  fake = await startFakeUpstream();
});
beforeEach(() => fake.forget());
afterAll(() => fake?.stop());

const jsonOf = async (sent: Promise<Response>): Promise<Json> => (await sent).json();

const post = (path: string, body: object, init: RequestInit = {}) =>
  fetch(fake.url + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), ...init });

type PathOf = (model: string) => string;
const CHAT: [dialect: string, path: PathOf, body: object, streamPath?: PathOf][] = [
  ["openai", () => "/openai/v1/chat/completions", {}],
  ["azure", (model) => `/azure/openai/deployments/${model}/chat/completions?api-version=1`, {}],
  ["mistral", () => "/mistral/v1/chat/completions", {}],
  ["anthropic", () => "/anthropic/v1/messages", { max_tokens: 5 }],
  [
    "gemini",
    (model) => `/gemini/v1beta/models/${model}:generateContent`,
    {},
    (model) => `/gemini/v1beta/models/${model}:streamGenerateContent?alt=sse`,
  ],
  ["bedrock", (model) => `/bedrock/model/${model}/converse`, {}, (model) => `/bedrock/model/${model}/converse-stream`],
  ["cohere", () => "/cohere/v2/chat", {}],
  ["ollama", () => "/ollama/api/chat", { stream: false }],
];

test.each(CHAT)(
  "%s: a script answers whole, in a stream, and refuses in the dialect's own words",
  async (dialect, path, body, streamPath = path) => {
    const whole = await post(path("pong"), { model: "pong", messages: [], ...body });
    expect(whole.status).toBe(200);
    expect(await whole.text()).toContain("pong");
    const stream = await post(streamPath("poem"), { model: "poem", messages: [], ...body, stream: true });
    expect(stream.headers.get("content-type")).not.toBe("application/json");
    expect(await stream.text()).toContain("word19");
    const refused = await post(path("context-error"), { model: "context-error", messages: [], ...body });
    expect(refused.status).toBe(400);
    expect(fake.requests.map((request) => [request.dialect, request.model])).toEqual([
      [dialect, "pong"],
      [dialect, "poem"],
      [dialect, "context-error"],
    ]);
  },
);

test("a script is chosen by what follows two dashes, and its steps by the attempt", async () => {
  const statuses = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    statuses.push((await post("/anthropic/v1/messages", { model: "claude-sonnet-4-5--error-500-once" })).status);
  }
  expect(statuses).toEqual([500, 200, 500]);
  expect(fake.last("claude-sonnet-4-5--error-500-once").attempt).toBe(3);
  expect((await post("/openai/v1/chat/completions", { model: "no-such-script" })).status).toBe(404);
});

test("splitting changes packets and not bytes", async () => {
  const text = async (model: string) => (await post("/openai/v1/chat/completions", { model, stream: true })).text();
  const digest = (value: string, model: string) => createHash("sha256").update(value.replaceAll(model, "x")).digest("hex");
  expect(digest(await text("split-1"), "split-1")).toBe(digest(await text("split-7"), "split-7"));
  expect(await text("unicode")).toContain("世界");
});

test("frames of Bedrock pass the checks of the reader", async () => {
  const response = await post("/bedrock/model/tools/converse-stream", { messages: [] });
  const events = [];
  for await (const { event } of readAwsEventStream(response.body as unknown as AsyncIterable<Uint8Array>)) events.push(event);
  expect(events).toEqual([
    "messageStart",
    "contentBlockStart",
    ...Array.from({ length: 3 }, () => "contentBlockDelta"),
    "contentBlockStop",
    "messageStop",
    "metadata",
  ]);
});

test("a stream can be cut or fail after so many frames", async () => {
  const cut = await post("/openai/v1/chat/completions", { model: "reset-after-3", stream: true });
  const seen: string[] = [];
  const read = async () => {
    for await (const bytes of cut.body as unknown as AsyncIterable<Uint8Array>) seen.push(Buffer.from(bytes).toString());
  };
  await expect(read()).rejects.toThrow();
  expect(seen.join("").match(/"content":"\w+ "/g)).toHaveLength(3);
  const failed = await (await post("/openai/v1/chat/completions", { model: "error-after-3", stream: true })).text();
  expect(failed.match(/"content":"\w+ "/g)).toHaveLength(3);
  expect(failed).toContain('"error"');
  expect(failed).not.toContain("[DONE]");
});

test("a caller that leaves is seen, here and from another process", async () => {
  const abort = new AbortController();
  const response = await post("/openai/v1/chat/completions", { model: "drip", stream: true }, { signal: abort.signal });
  await response.body?.getReader().read();
  abort.abort();
  while (fake.last("drip").abortedAt === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  const read = (await (await fetch(`${fake.url}/__requests?model=drip`)).json()) as { abortedAt: number; ended: boolean }[];
  expect(read).toEqual([expect.objectContaining({ abortedAt: expect.any(Number), ended: false })]);
  const hanging = post("/openai/v1/chat/completions", { model: "hang" }, { signal: AbortSignal.timeout(50) });
  await expect(hanging).rejects.toThrow();
});

test("embeddings have the length that was asked for, in every dialect that has them", async () => {
  const lengths = [];
  const openai = await jsonOf(post("/openai/v1/embeddings", { model: "pong", input: ["a", "b"], dimensions: 4 }));
  lengths.push(openai.data.map(({ embedding }: { embedding: number[] }) => embedding.length));
  const requests = [{ outputDimensionality: 4 }, { outputDimensionality: 4 }];
  const google = await jsonOf(post("/gemini/v1beta/models/pong:batchEmbedContents", { requests }));
  lengths.push(google.embeddings.map(({ values }: { values: number[] }) => values.length));
  const cohere = await jsonOf(post("/cohere/v2/embed", { model: "pong", texts: ["a", "b"], output_dimension: 4 }));
  lengths.push(cohere.embeddings.float.map((vector: number[]) => vector.length));
  expect(lengths).toEqual([
    [4, 4],
    [4, 4],
    [4, 4],
  ]);
});
