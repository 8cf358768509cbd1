import { AppError } from "../../../../common/errors.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { TolerantCache } from "../../../calls/cache/tolerant-cache.ts";
import { deployment } from "./edge-fixture.ts";
import { completion, frames, type LayeredEdge, type Reply, SILENCE, startLayered, user } from "./layered-edge-fixture.ts";

const opened: LayeredEdge[] = [];
afterAll(() => Promise.all(opened.map((edge) => edge.close())));

const settings = (params: object = {}) => ({
  litellm_settings: {
    cache: true,
    cache_params: { semantic_cache: "opt_in", similarity_threshold: 0.9, semantic_cache_embedding_model: "vectors", ...params },
  },
});
const VECTORS = deployment({
  id: "dep_vectors",
  modelName: "vectors",
  providerKind: "openai",
  inferenceModelId: "vectors-x",
  baseUrl: "http://upstream/v1",
  apiKey: "up",
  params: "{}",
});

/** Directions of texts: the first two are near each other. */
const DIRECTIONS: Readonly<Record<string, number[]>> = { "what is a river": [1, 0.1], "what are rivers": [1, 0.2], "who are you": [0, 1] };
let count = 0;
const scripted: Reply = (body) => {
  if (!("input" in body)) return body["stream"] ? frames(["answer ", `${++count}`]) : completion(`answer ${++count}`);
  const [text = ""] = body["input"] as string[];
  return { data: [{ index: 0, embedding: DIRECTIONS[text] ?? [-1, 0] }], usage: { prompt_tokens: 4, total_tokens: 4 } };
};

async function open({ reply = scripted, params = {} }: { reply?: Reply; params?: object } = {}) {
  const layered = await startLayered(settings(params), reply, [VECTORS]);
  opened.push(layered);
  const embedded = () => layered.sent.filter((body) => "input" in body).length;
  return { ...layered, embedded, asked: () => layered.sent.length - embedded() };
}

const ON: Partial<Caller> = { semanticCache: { enabled: true } };
const CHAT = "/v1/chat/completions";
const ask = (content: string, more: object = {}) => ({ model: "gpt", messages: user(content), ...more });
const similarityOf = (response: Response) => response.headers.get("x-gw-semantic-similarity");
const contentOf = async (response: Response) =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;

test("a similar text gets the cached answer: the vectors are billed as calls of their own, the hit costs nothing", async () => {
  const { key, asked, embedded, logs, edge } = await open();
  const post = key({ ...ON, models: { names: ["gpt"] } });
  const first = await post(CHAT, ask("what is a river"));
  expect([similarityOf(first), first.headers.get("x-gw-cache-key")]).toEqual([null, null]);
  const similar = await post(CHAT, ask("what are rivers"));
  expect([similarityOf(similar), similar.headers.get("x-gw-cost-nano")]).toEqual(["0.9952", "0"]);
  expect(similar.headers.get("x-gw-cache-key")).toMatch(/^[0-9a-f]{64}$/);
  expect(await contentOf(similar)).toBe(await contentOf(first));
  expect([asked(), embedded()]).toEqual([1, 2]);
  const rows = logs().map(({ endpoint, cacheHit, cost, organizationId }) => [endpoint, cacheHit, cost > 0n, organizationId]);
  const { organizationId } = logs()[0] ?? {};
  expect(rows).toEqual([
    ["/v1/embeddings", false, true, organizationId],
    [CHAT, false, true, organizationId],
    ["/v1/embeddings", false, true, organizationId],
    [CHAT, true, false, organizationId],
  ]);
  const figures = edge.inference.figures();
  expect([figures.semanticCache, figures.cache]).toEqual([
    { hits: 1, misses: 1, failures: 0 },
    { hits: 0, misses: 2, failures: 0 },
  ]);
});

test("an equal text needs no vector; another text, other parameters and another organization get their own answers", async () => {
  const { key, asked, embedded } = await open();
  const post = key(ON);
  await post(CHAT, ask("what is a river"));
  await post(CHAT, ask("what is a river"));
  expect([asked(), embedded()]).toEqual([1, 1]);
  const elsewhere = key({ ...ON, organizationId: "org_2", teamId: "team_2" });
  const others = [
    await post(CHAT, ask("who are you")),
    await post(CHAT, ask("what are rivers", { temperature: 0 })),
    await post(CHAT, { model: "gpt", messages: [{ role: "system", content: "be short" }, ...user("what are rivers")] }),
    await post(CHAT, ask("what are rivers", { cache: { namespace: "n" } })),
    await elsewhere(CHAT, ask("what are rivers")),
  ];
  expect(others.map(similarityOf)).toEqual(others.map(() => null));
  expect(asked()).toBe(1 + others.length);
});

test("an organization that has not enabled it, and a request with tools, several choices or no-cache, make no vector", async () => {
  const { key, embedded } = await open();
  await key()(CHAT, ask("what is a river"));
  await key({ semanticCache: { enabled: false } })(CHAT, ask("what are rivers"));
  const post = key(ON);
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
  for (const more of [{ tools }, { n: 2 }, { cache: { "no-cache": true } }, { caching: false }]) await post(CHAT, ask("who are you", more));
  expect(embedded()).toBe(0);
});

test("where the operator chose all, the threshold and the model of an organization count", async () => {
  const { key, embedded } = await open({ params: { semantic_cache: "all" } });
  const strict = key({ semanticCache: { enabled: true, threshold: 0.999 } });
  await strict(CHAT, ask("what is a river"));
  expect(similarityOf(await strict(CHAT, ask("what are rivers")))).toBeNull();
  expect(embedded()).toBe(2);
});

test("no-store leaves nothing to find; a stream is found by a similar text, and replayed", async () => {
  const { key, asked } = await open();
  const post = key(ON);
  await post(CHAT, ask("what is a river", { cache: { "no-store": true } }));
  const streamed = await post(CHAT, ask("what are rivers", { stream: true }));
  expect(similarityOf(streamed)).toBeNull();
  await streamed.text();
  const replayed = await post(CHAT, ask("what is a river", { stream: true }));
  expect(similarityOf(replayed)).toBe("0.9952");
  expect(await replayed.text()).toContain("[DONE]");
  expect(asked()).toBe(2);
});

test.each<[string, (body: Record<string, unknown>) => unknown]>([
  ["fails", () => ({ error: { message: "no" } })],
  ["never comes", () => [SILENCE]],
])("a vector that %s is a miss, and the call is answered", async (_name, vector) => {
  const { key, edge } = await open({ reply: (body, request) => ("input" in body ? vector(body) : scripted(body, request)) });
  const post = key(ON);
  const response = await post(CHAT, ask("what is a river"));
  expect([response.status, similarityOf(response)]).toEqual([200, null]);
  expect(edge.inference.figures().semanticCache).toEqual({ hits: 0, misses: 0, failures: 1 });
});

test("a key that may not use the model is refused before a vector is made", async () => {
  const { key, embedded } = await open();
  expect((await key({ ...ON, models: { names: ["other"] } })(CHAT, ask("what is a river"))).status).toBe(403);
  expect(embedded()).toBe(0);
});

test.each([
  ["a rate limit", { refuseReserve: new AppError("RATE_LIMIT_EXCEEDED", "Slow down.") }],
  ["its credit", { balance: 0n }],
])("a call that is refused by %s pays for no vector", async (_name, state) => {
  const { key, embedded, control, logs } = await open();
  Object.assign(control, state);
  const post = key({ ...ON, isLimited: true });
  for (let attempt = 0; attempt < 3; attempt++) expect((await post(CHAT, ask("what is a river"))).status).toBe(429);
  expect([embedded(), logs().filter(({ cost }) => cost > 0n)]).toEqual([0, []]);
});

test("a call that takes all of the credit makes no vector", async () => {
  const { key, embedded, asked, control } = await open();
  control.balance = 100n;
  expect((await key({ ...ON, isLimited: true })(CHAT, ask("what is a river"))).status).toBe(200);
  expect([embedded(), asked()]).toEqual([0, 1]);
});

test("rate limits count the call and not its vector, and a hit settles the call's own reservation", async () => {
  const { key, control } = await open();
  const post = key({ ...ON, isLimited: true });
  await post(CHAT, ask("what is a river"));
  expect(similarityOf(await post(CHAT, ask("what are rivers")))).toBe("0.9952");
  const reserved = control.reserved.map(({ callId, model, isGrowth }) => [model, isGrowth, control.settled.get(callId)?.cacheHit]);
  expect(reserved).toEqual([
    ["gpt", false, false],
    ["vectors", true, false],
    ["gpt", false, true],
    ["vectors", true, false],
  ]);
});

test("a hit returns the lease's credit", async () => {
  const { key, edge } = await open();
  const post = key(ON);
  for (const text of ["what is a river", "what are rivers"]) await (await post(CHAT, ask(text, { stream: true }))).text();
  expect(edge.inference.figures().semanticCache.hits).toBe(1);
  expect(edge.inference.figures().leases.held).toBe(0n);
});

test("a call that is made again after a failure pays for no second vector", async () => {
  let isFailing = true;
  const reply: Reply = (body, request) => (isFailing && !("input" in body) ? { error: { message: "no" } } : scripted(body, request));
  const { key, embedded, edge } = await open({ reply });
  const post = key(ON);
  for (let attempt = 0; attempt < 2; attempt++) expect((await post(CHAT, ask("what is a river"))).status).toBeGreaterThanOrEqual(400);
  isFailing = false;
  expect((await post(CHAT, ask("what is a river"))).status).toBe(200);
  expect(similarityOf(await post(CHAT, ask("what are rivers")))).toBe("0.9952");
  expect(embedded()).toBe(2);
  expect(edge.inference.figures().semanticCache.failures).toBe(0);
});

test("a cache that cannot be read for a while is a miss; afterwards its answers are found again", async () => {
  const { key, edge } = await open();
  const post = key(ON);
  await post(CHAT, ask("what is a river"));
  const cache = edge.inference.layers.cache.current()?.cache as TolerantCache;
  const reading = jest.spyOn(cache, "read").mockResolvedValue({ value: undefined, isFailed: true });
  expect(similarityOf(await post(CHAT, ask("what are rivers", { cache: { "no-store": true } })))).toBeNull();
  reading.mockRestore();
  expect(similarityOf(await post(CHAT, ask("what are rivers")))).toBe("0.9952");
});

test("clearing the cache removes the vectors, and a guardrail reads a similar answer as any other", async () => {
  const guarded = await startLayered(
    {
      ...settings(),
      guardrails: [{ guardrail_name: "no-answers", litellm_params: { guardrail: "word-list", mode: "post_call", words: ["answer"] } }],
    },
    scripted,
    [VECTORS],
  );
  opened.push(guarded);
  const post = guarded.key(ON);
  await post(CHAT, ask("what is a river"));
  expect((await post(CHAT, ask("what are rivers", { guardrails: ["no-answers"] }))).status).toBe(400);
  expect(similarityOf(await post(CHAT, ask("what are rivers")))).toBe("0.9952");
  await guarded.edge.inference.layers.cache.clear();
  expect(similarityOf(await post(CHAT, ask("what are rivers")))).toBeNull();
});
