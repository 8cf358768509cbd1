import { parseStream } from "./edge-fixture.ts";
import { completion, frames, type LayeredEdge, type Reply, SILENCE, startLayered, user } from "./layered-edge-fixture.ts";

const opened: LayeredEdge[] = [];
afterAll(() => Promise.all(opened.map((edge) => edge.close())));

const ON = { litellm_settings: { cache: true } };
async function open(reply: Reply, settings: object = ON) {
  const layered = await startLayered(settings, reply);
  opened.push(layered);
  return layered;
}

const CHAT = "/v1/chat/completions";
const ask = { model: "gpt", messages: user("hi") };
let count = 0;
const numbered: Reply = (body) => (body["stream"] ? frames([`answer `, `${++count}`]) : completion(`answer ${++count}`));

interface Chunk {
  choices: { delta: { content?: string; tool_calls?: unknown }; finish_reason: string | null }[];
}
const contentOf = async (response: Response) =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;
const textOf = (text: string) => (parseStream(text) as unknown as Chunk[]).map(({ choices }) => choices[0]?.delta.content ?? "").join("");

test("a repeated request of an organization comes from the cache: no upstream call, nothing billed or reserved, and a usage row that says so", async () => {
  const { key, sent, logs, control, edge } = await open(numbered);
  const [one, colleague] = [key(), key({ userId: 8n })];
  const first = await one(CHAT, ask);
  const said = await contentOf(first);
  expect(first.headers.get("x-gw-cache-key")).toBeNull();
  const again = await colleague(CHAT, { messages: user("hi"), model: "gpt", user: "somebody else" });
  expect([again.status, await contentOf(again)]).toEqual([200, said]);
  expect(again.headers.get("x-gw-cache-key")).toMatch(/^[0-9a-f]{64}$/);
  expect([again.headers.get("x-gw-cost-nano"), again.headers.get("x-gw-model-id")]).toEqual(["0", "dep_gpt"]);
  expect([sent.length, control.reserved.length]).toEqual([1, 1]);
  expect(logs().map(({ cacheHit, cost, status, usage, attempts }) => [cacheHit, cost, status, usage?.total, attempts])).toEqual([
    [false, 20_000n, "success", 15n, 1],
    [true, 0n, "success", 15n, 0],
  ]);
  expect(edge.inference.figures().cache).toEqual({ hits: 1, misses: 1, failures: 0 });
});

test("an order to forget that comes over the feed empties the cache", async () => {
  const { key, sent, control } = await open(numbered);
  const post = key();
  await post(CHAT, ask);
  control.change({ kind: "cache", subject: "all" });
  for (let attempt = 0; sent.length < 2 && attempt < 50; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await post(CHAT, ask);
  }
  expect(sent).toHaveLength(2);
});

test("another organization, another question and another model never see it", async () => {
  const { key, sent } = await open(numbered);
  const [one, other] = [key(), key({ organizationId: "org_2", teamId: "team_2" })];
  await one(CHAT, ask);
  expect((await other(CHAT, ask)).headers.get("x-gw-cache-key")).toBeNull();
  expect((await one(CHAT, { ...ask, temperature: 0 })).headers.get("x-gw-cache-key")).toBeNull();
  expect(sent).toHaveLength(3);
});

test("a key that may not use the model, or whose team is blocked, gets no cached answer either", async () => {
  const { key } = await open(numbered);
  await key()(CHAT, ask);
  expect((await key({ models: { names: ["other"] } })(CHAT, ask)).status).toBe(403);
  expect((await key({ status: "team_blocked" })(CHAT, ask)).status).toBe(403);
});

test("a complete stream is cached, and a cached answer is replayed as a well-formed stream", async () => {
  const { key, sent } = await open(numbered);
  const post = key();
  const streamed = await (await post(CHAT, { ...ask, stream: true })).text();
  const whole = await post(CHAT, ask);
  expect(await contentOf(whole)).toBe(textOf(streamed));
  const replay = await post(CHAT, { ...ask, stream: true, stream_options: { include_usage: true } });
  expect(replay.headers.get("x-gw-cache-key")).not.toBeNull();
  const text = await replay.text();
  expect(textOf(text)).toBe(textOf(streamed));
  const chunks = parseStream(text);
  expect(chunks.at(-2)).toMatchObject({ choices: [{ finish_reason: "stop" }] });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 15, cost_nano: 0 } });
  expect(sent).toHaveLength(1);
});

test("calls of tools survive the way from stream to answer and back", async () => {
  const call = (index: number, id: string) => ({ index, id, type: "function", function: { name: `f${index}`, arguments: "" } });
  const reply: Reply = () =>
    frames(
      [
        { tool_calls: [call(0, "a")] },
        { tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] },
        { tool_calls: [{ index: 0, function: { arguments: ":1}" } }, call(1, "b")] },
      ],
      "tool_calls",
    );
  const { key } = await open(reply);
  const post = key();
  await (await post(CHAT, { ...ask, stream: true })).text();
  const whole = (await (await post(CHAT, ask)).json()) as { choices: { message: object; finish_reason: string }[] };
  expect(whole.choices[0]).toMatchObject({
    finish_reason: "tool_calls",
    message: {
      content: null,
      tool_calls: [
        { id: "a", type: "function", function: { name: "f0", arguments: '{"x":1}' } },
        { id: "b", type: "function", function: { name: "f1", arguments: "" } },
      ],
    },
  });
  const replayed = parseStream(await (await post(CHAT, { ...ask, stream: true })).text()) as unknown as Chunk[];
  const deltas = replayed.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
  expect(deltas).toMatchObject([
    { index: 0, id: "a", function: { arguments: '{"x":1}' } },
    { index: 1, id: "b" },
  ]);
});

test.each(["length", "content_filter"])("an answer that ended with %s is not cached", async (finish) => {
  const { key, sent } = await open((body) => (body["stream"] ? frames(["cut"], finish) : completion("cut", {}, finish)));
  const post = key();
  await post(CHAT, ask);
  await (await post(CHAT, { ...ask, stream: true })).text();
  await post(CHAT, ask);
  expect(sent).toHaveLength(3);
});

test("a client that leaves in the middle of its stream leaves nothing in the cache", async () => {
  const layered = await open((body) => (body["stream"] ? [...frames(["begun"]).slice(0, 1), SILENCE] : completion("whole")));
  const { secret } = layered.control.addKey();
  const leaving = new AbortController();
  const response = await fetch(layered.edge.url + CHAT, {
    method: "POST",
    signal: leaving.signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ ...ask, stream: true }),
  });
  await response.body?.getReader().read();
  leaving.abort();
  while (layered.logs().length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(layered.logs()[0]).toMatchObject({ status: "cancelled" });
  const post = layered.key();
  const answer = await post(CHAT, ask);
  expect([answer.headers.get("x-gw-cache-key"), await contentOf(answer)]).toEqual([null, "whole"]);
});

test("a request can say no: caching false, no-cache, no-store, s-maxage; a cache field of the wrong kind is a 400", async () => {
  const { key, sent } = await open(numbered);
  const post = key();
  const said = async (more: object) => contentOf(await post(CHAT, { ...ask, ...more }));
  const kept = await said({});
  expect(await said({ caching: false })).not.toBe(kept);
  expect(await said({ cache: { "no-store": true } })).toBe(kept);
  const fresh = await said({ cache: { "no-cache": true } });
  expect(fresh).not.toBe(kept);
  expect(await said({})).toBe(fresh);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await said({ cache: { "s-maxage": 0.01 } })).not.toBe(fresh);
  expect((await post(CHAT, { ...ask, cache: { ttl: "long" } })).status).toBe(400);
  expect(sent).toHaveLength(4);
  // The gateway's own fields are not the provider's business.
  expect(sent.some((body) => "cache" in body || "caching" in body)).toBe(false);
});

test("embeddings are cached entry by entry: only missing entries are requested and billed", async () => {
  const reply: Reply = (body) => {
    const input = body["input"] as string[];
    const tokens = input.length * 10;
    return {
      data: input.map((text, index) => ({ index, embedding: [text.length, 1] })),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  };
  const { key, sent, logs } = await open(reply);
  const post = key();
  const embed = async (input: unknown, more: object = {}) => {
    const response = await post("/v1/embeddings", { model: "gpt", input, ...more });
    const body = (await response.json()) as { data: { index: number; embedding: number[] }[]; usage: { prompt_tokens: number } };
    return { response, vectors: body.data.map(({ embedding }) => embedding), places: body.data.map(({ index }) => index) };
  };
  await embed(["a", "bb"]);
  const mixed = await embed(["ccc", "a", "dddd", "bb"]);
  expect([mixed.vectors, mixed.places]).toEqual([
    [
      [3, 1],
      [1, 1],
      [4, 1],
      [2, 1],
    ],
    [0, 1, 2, 3],
  ]);
  expect(sent.map((body) => body["input"])).toEqual([
    ["a", "bb"],
    ["ccc", "dddd"],
  ]);
  const all = await embed(["bb", "ccc"]);
  expect(all.response.headers.get("x-gw-cache-key")).not.toBeNull();
  expect(all.vectors).toEqual([
    [2, 1],
    [3, 1],
  ]);
  expect((await embed("a", { encoding_format: "base64" })).response.headers.get("x-gw-cache-key")).not.toBeNull();
  expect(logs().map(({ cost, cacheHit }) => [cost, cacheHit])).toEqual([
    [20_000n, false],
    [20_000n, false],
    [0n, true],
    [0n, true],
  ]);
});

test("completions and moderations are cached too; without settings nothing is", async () => {
  const reply: Reply = (body) =>
    "input" in body
      ? { id: "m", results: [{ flagged: false }] }
      : { choices: [{ index: 0, text: "so", finish_reason: "stop" }], usage: completion("").usage };
  const { key, sent } = await open(reply);
  const post = key();
  for (const [path, body] of [
    ["/v1/completions", { model: "gpt", prompt: "once" }],
    ["/v1/moderations", { model: "gpt", input: "once" }],
  ] as const) {
    const first = await post(path, body);
    const again = await post(path, body);
    expect(again.headers.get("x-gw-cache-key")).not.toBeNull();
    expect(Object.keys((await again.json()) as object)).toEqual(Object.keys((await first.json()) as object));
  }
  expect(sent).toHaveLength(2);
  const without = await open(numbered, {});
  const plain = without.key();
  await plain(CHAT, ask);
  await plain(CHAT, ask);
  expect(without.sent).toHaveLength(2);
});

test("a stream of more parts than an entry may have is delivered whole and not cached", async () => {
  const words = Array.from({ length: 20_000 }, () => "w");
  const { key } = await open(() => frames(words));
  const post = key();
  for (let call = 0; call < 2; call++) {
    const response = await post(CHAT, { ...ask, stream: true });
    expect(textOf(await response.text())).toBe(words.join(""));
    expect(response.headers.get("x-gw-cache-key")).toBeNull();
  }
});
