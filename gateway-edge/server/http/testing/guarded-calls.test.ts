import { deployment, parseStream } from "./edge-fixture.ts";
import { completion, frames, type LayeredEdge, type Reply, SILENCE, startLayered, user } from "./layered-edge-fixture.ts";

const opened: LayeredEdge[] = [];
afterAll(() => Promise.all(opened.map((edge) => edge.close())));

const guard = (name: string, guardrail: string, params: object = {}) => ({
  guardrail_name: name,
  litellm_params: { guardrail, ...params },
});

async function open(guardrails: readonly object[], reply: Reply = () => completion("fine"), settings: object = {}) {
  const layered = await startLayered({ guardrails, ...settings }, reply, [
    deployment({
      modelName: "judge",
      providerKind: "openai",
      inferenceModelId: "judge-x",
      baseUrl: "http://judge/v1",
      apiKey: "up",
      params: "{}",
    }),
  ]);
  opened.push(layered);
  return layered;
}

const CHAT = "/v1/chat/completions";
const ask = (content: string, more: object = {}) => ({ model: "gpt", messages: user(content), ...more });
const errorOf = async (response: Response) =>
  [response.status, ((await response.json()) as { error: { code: string; message: string } }).error] as const;
const contentOf = async (response: Response) =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;

const SECRET = guard("no-secrets", "regex", { mode: ["pre_call", "post_call"], default_on: true, patterns: ["sesame-[0-9]+"] });

describe("before the call", () => {
  test("what is blocked is a 400 that names the guardrail; nothing is sent, reserved or billed", async () => {
    const { key, sent, control, edge } = await open([SECRET]);
    const [status, error] = await errorOf(await key()(CHAT, ask("open sesame-42")));
    expect([status, error.code]).toEqual([400, "content_policy_violation"]);
    expect(error.message).toContain("no-secrets");
    expect(error.message).not.toContain("sesame");
    expect([sent.length, control.reserved.length, control.made.length]).toEqual([0, 0, 0]);
    expect(edge.inference.figures().guardrails).toEqual({ "no-secrets": { blocked: 1, masked: 0 } });
    expect((await key()(CHAT, ask("open sesame"))).status).toBe(200);
  });

  test("every text is read: system turns, content parts, arguments and results of tools, completions and embeddings", async () => {
    const { key } = await open([SECRET]);
    const post = key();
    const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":"sesame-1"}' } };
    const turns = [
      [{ role: "system", content: "sesame-1" }, ...user("x")],
      [{ role: "user", content: [{ type: "text", text: "sesame-1" }] }],
      [...user("x"), { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "c", content: "ok" }],
      [...user("x"), { role: "tool", tool_call_id: "c", content: "sesame-1" }],
    ];
    for (const messages of turns) expect((await post(CHAT, { model: "gpt", messages })).status).toBe(400);
    expect((await post("/v1/completions", { model: "gpt", prompt: ["x", "sesame-1"] })).status).toBe(400);
    expect((await post("/v1/embeddings", { model: "gpt", input: ["x", "sesame-1"] })).status).toBe(400);
  });

  test("tokens cannot be read, so they are refused where a guardrail must read; moderations are not guarded", async () => {
    const { key } = await open([SECRET], () => ({ id: "m", results: [{ flagged: true }] }));
    expect(await errorOf(await key()("/v1/embeddings", { model: "gpt", input: [1, 2, 3] }))).toMatchObject([
      400,
      { message: expect.stringContaining("tokens") },
    ]);
    expect((await key()("/v1/moderations", { model: "gpt", input: "sesame-1" })).status).toBe(200);
  });

  test("a caller that may not use the model gets that error, not a guardrail's", async () => {
    const { key } = await open([SECRET]);
    expect((await key({ models: { names: ["other"] } })(CHAT, ask("sesame-1"))).status).toBe(403);
    expect((await key()(CHAT, { ...ask("sesame-1"), model: "nope" })).status).toBe(404);
  });
});

describe("whose guardrails hold", () => {
  const words = (name: string, word: string) => guard(name, "word-list", { words: [word] });

  test("the team's and the key's always, the request's on top; a request cannot take one away", async () => {
    const { key } = await open([words("a", "apple"), words("b", "berry"), words("c", "cherry")]);
    const plain = key();
    const bound = key({ guardrails: ["a"] });
    const status = async (post: typeof plain, text: string, guardrails?: string[]) => (await post(CHAT, ask(text, { guardrails }))).status;
    expect(await status(plain, "apple berry cherry")).toBe(200);
    expect(await status(bound, "an Apple")).toBe(400);
    expect(await status(bound, "an apple", [])).toBe(400);
    expect(await status(bound, "an apple", ["b"])).toBe(400);
    expect(await status(bound, "a berry", ["b"])).toBe(400);
    expect(await status(bound, "a berry")).toBe(200);
    expect(await status(bound, "pineapple")).toBe(200);
  });

  test("an unknown name is a 400, wherever it was set", async () => {
    const { key, sent } = await open([words("a", "apple")]);
    expect(await errorOf(await key()(CHAT, ask("x", { guardrails: ["z"] })))).toMatchObject([
      400,
      { message: expect.stringContaining('"z"') },
    ]);
    expect((await key({ guardrails: ["gone"] })(CHAT, ask("x"))).status).toBe(400);
    expect((await key()("/v1/embeddings", { model: "gpt", input: "x", guardrails: "a" })).status).toBe(400);
    expect(sent).toHaveLength(0);
  });
});

describe("after the call", () => {
  test("an answer that is blocked is withheld; what was spent is billed, and the row says why", async () => {
    const { key, logs } = await open([SECRET], () => completion("say sesame-7"));
    const [status, error] = await errorOf(await key()(CHAT, ask("how?")));
    expect([status, error.code]).toEqual([400, "content_policy_violation"]);
    expect(logs()).toMatchObject([{ status: "error", httpStatus: 400, errorCode: "CONTENT_POLICY_VIOLATION", cost: 20_000n }]);
  });

  test("calls of tools are read too", async () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":"sesame-1"}' } };
    const { key } = await open([SECRET], () => completion(null, { tool_calls: [call] }, "tool_calls"));
    expect((await key()(CHAT, ask("how?"))).status).toBe(400);
  });

  test("an answer must be JSON of the operator's schema", async () => {
    const schema = { type: "object", required: ["a"], properties: { a: { type: "integer" } } };
    let answer = '{"a":1}';
    const { key } = await open([guard("shape", "json-schema", { mode: "post_call", default_on: true, schema })], () => completion(answer));
    const post = key();
    expect((await post(CHAT, ask("x"))).status).toBe(200);
    answer = '{"a":"1"}';
    expect(await errorOf(await post(CHAT, ask("x")))).toMatchObject([400, { message: expect.stringContaining("/a must be integer") }]);
    answer = "sorry";
    expect((await post(CHAT, ask("x"))).status).toBe(400);
  });
});

describe("streams", () => {
  const streamed =
    (pieces: string[]): Reply =>
    () =>
      frames(pieces);
  const text = (chunks: Record<string, unknown>[]) =>
    (chunks as { choices?: { delta: { content?: string } }[] }[]).map(({ choices }) => choices?.[0]?.delta.content ?? "").join("");

  test("a finding that spans chunks is caught before any of it is shown: an error frame, then [DONE], paid as far as it came", async () => {
    const pieces = ["It is a long story. ".repeat(20), "The word is se", "sa", "me-", "12", "3 and that is that."];
    const { key, logs } = await open([SECRET], streamed(pieces));
    const response = await key()(CHAT, ask("how?", { stream: true }));
    expect(response.status).toBe(200);
    const chunks = parseStream(await response.text());
    const shown = text(chunks);
    expect(shown).not.toContain("se" + "sa");
    expect(pieces.join("").startsWith(shown)).toBe(true);
    expect(shown.length).toBeGreaterThan(0);
    expect(chunks.at(-1)).toMatchObject({ error: { code: "content_policy_violation", message: expect.stringContaining("no-secrets") } });
    const [log] = logs();
    expect(log).toMatchObject({ status: "error", errorCode: "CONTENT_POLICY_VIOLATION", httpStatus: 400 });
    expect(log?.cost).toBeGreaterThan(0n);
  });

  test("a clean stream arrives whole and in order, whatever its chunks are", async () => {
    const story = Array.from({ length: 400 }, (_, place) => `word${place} 😀 `).join("");
    const pieces = story.match(/[\s\S]{1,7}/gu) ?? [];
    const { key, logs } = await open([SECRET], streamed(pieces));
    const chunks = parseStream(await (await key()(CHAT, ask("how?", { stream: true, stream_options: { include_usage: true } }))).text());
    expect(text(chunks)).toBe(story);
    expect(chunks.at(-1)).toMatchObject({ usage: { total_tokens: 15 } });
    expect(logs()).toMatchObject([{ status: "success", cost: 20_000n }]);
  });

  test("what is masked is masked across chunks, and text goes out while more comes", async () => {
    const mask = guard("mask", "regex", {
      mode: "post_call",
      default_on: true,
      patterns: [{ name: "account", pattern: "ACC-[0-9]{6,}", action: "mask" }],
    });
    const pieces = ["a ".repeat(300), "ACC-", "123", "456789 done ", "b ".repeat(300), SILENCE];
    const reply: Reply = () => [...frames(pieces.slice(0, -1)).slice(0, 5), SILENCE];
    const { key } = await open([mask], reply);
    const leaving = new AbortController();
    const { control, edge } = opened.at(-1) as LayeredEdge;
    const { secret } = control.addKey();
    void key;
    const response = await fetch(edge.url + CHAT, {
      method: "POST",
      signal: leaving.signal,
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
      body: JSON.stringify(ask("x", { stream: true })),
    });
    let seen = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      seen += Buffer.from(chunk).toString();
      if (seen.includes("done")) break;
    }
    leaving.abort();
    const shown = [...seen.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join("");
    expect(shown).toContain("[ACCOUNT] done");
    expect(shown).not.toContain("ACC-");
  });

  test("a call of a tool is held until it is complete, and read", async () => {
    const piece = (more: string) => ({ tool_calls: [{ index: 0, function: { arguments: more } }] });
    const head = { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "" } }] };
    const reply =
      (word: string): Reply =>
      () =>
        frames([head, piece('{"a":"ses'), piece(word)], "tool_calls");
    const bad = await open([SECRET], reply('ame-1"}'));
    expect(parseStream(await (await bad.key()(CHAT, ask("x", { stream: true }))).text()).at(-1)).toHaveProperty("error");
    const good = await open([SECRET], reply('sion"}'));
    const chunks = parseStream(await (await good.key()(CHAT, ask("x", { stream: true }))).text());
    expect(JSON.stringify(chunks)).toContain(JSON.stringify('{"a":"session"}'));
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] });
  });
});

describe("personal data", () => {
  const pii = (params: object) => guard("pii", "pii-masking", { mode: "pre_call", default_on: true, ...params });
  const echo: Reply = (body) => {
    const said = (body["messages"] as { content: string }[]).at(-1)?.content ?? "";
    return body["stream"] ? frames(`You wrote: ${said}`.match(/.{1,3}/gs) ?? []) : completion(`You wrote: ${said}`);
  };
  const letter = "I am ann@example.org, card 4111 1111 1111 1111, IBAN DE89 3704 0044 0532 0130 00; ann@example.org again.";

  test("the provider sees placeholders, the caller the real thing, streamed or not", async () => {
    const { key, sent } = await open([pii({ unmask: true })], echo);
    const post = key();
    expect(await contentOf(await post(CHAT, ask(letter)))).toBe(`You wrote: ${letter}`);
    expect(sent[0]).toMatchObject({ messages: [{ content: "I am [EMAIL_1], card [CREDIT_CARD_1], IBAN [IBAN_1]; [EMAIL_1] again." }] });
    const chunks = parseStream(await (await post(CHAT, ask(letter, { stream: true }))).text());
    const shown = (chunks as { choices: { delta: { content?: string } }[] }[])
      .map(({ choices }) => choices[0]?.delta.content ?? "")
      .join("");
    expect(shown).toBe(`You wrote: ${letter}`);
  });

  test("without unmask the answer keeps the placeholders; with block it is refused", async () => {
    const masked = await open([pii({})], echo);
    expect(await contentOf(await masked.key()(CHAT, ask("mail ann@example.org")))).toBe("You wrote: mail [EMAIL_1]");
    const blocked = await open([pii({ action: "block", entities: ["IBAN"] })], echo);
    expect((await blocked.key()(CHAT, ask("mail ann@example.org"))).status).toBe(200);
    expect((await blocked.key()(CHAT, ask(letter))).status).toBe(400);
  });

  test("with the cache on, one caller's data never comes back to another: the masked answer is cached", async () => {
    const { key, sent } = await open([pii({ unmask: true })], echo, { litellm_settings: { cache: true } });
    const post = key();
    expect(await contentOf(await post(CHAT, ask("mail ann@example.org")))).toBe("You wrote: mail ann@example.org");
    const other = await post(CHAT, ask("mail bob@example.com"));
    expect(other.headers.get("x-gw-cache-key")).not.toBeNull();
    expect(await contentOf(other)).toBe("You wrote: mail bob@example.com");
    const streamed = await (await post(CHAT, ask("mail eve@example.net", { stream: true }))).text();
    expect(streamed).toContain("eve@example.net");
    expect(streamed).not.toMatch(/ann@|bob@/);
    expect(sent).toHaveLength(1);
  });
});

describe("a moderation model", () => {
  const judge = guard("judge", "moderation-model", { mode: "pre_call", default_on: true, model: "judge" });
  const reply: Reply = (body) =>
    "input" in body
      ? {
          id: "m",
          results: (body["input"] as string[]).map((text) => ({
            flagged: text.includes("bad"),
            categories: { hate: text.includes("bad") },
          })),
        }
      : completion("fine");

  test("is a call of its own, paid by the caller, also for a key that may not use it", async () => {
    const { key, logs } = await open([judge], reply);
    const post = key({ models: { names: ["gpt"] } });
    expect((await post(CHAT, ask("good"))).status).toBe(200);
    expect(logs().map(({ endpoint, model }) => [endpoint, model])).toEqual([
      ["/v1/moderations", "judge"],
      ["/v1/chat/completions", "gpt"],
    ]);
    expect(new Set(logs().map(({ callId }) => callId)).size).toBe(2);
    expect(await errorOf(await post(CHAT, ask("bad")))).toMatchObject([400, { message: expect.stringContaining("hate") }]);
  });

  test("fails closed: if the moderation model cannot be called, no call is answered", async () => {
    const { key, sent } = await open([guard("judge", "moderation-model", { default_on: true, model: "nobody" })], reply);
    expect((await key()(CHAT, ask("good"))).status).toBe(404);
    expect(sent).toHaveLength(0);
  });
});

test("how much a request may say", async () => {
  const { key } = await open([guard("size", "prompt-size", { default_on: true, max_characters: 10 })]);
  expect((await key()(CHAT, ask("x".repeat(10)))).status).toBe(200);
  expect(await errorOf(await key()(CHAT, ask("x".repeat(11))))).toMatchObject([400, { message: expect.stringContaining("11 characters") }]);
});

test("what is to be spoken or drawn is read too, and masked where it is to be masked", async () => {
  const mask = guard("mask", "pii-masking", { default_on: true, unmask: true });
  const { key, sent } = await open([SECRET, mask], () => ({ created: 1, data: [{ b64_json: "aGk=" }] }));
  const post = key();
  const refused = await Promise.all([
    post("/v1/audio/speech", { model: "gpt", voice: "alloy", input: "sesame-1" }),
    post("/v1/images/generations", { model: "gpt", prompt: "sesame-1" }),
  ]);
  for (const response of refused) expect(await errorOf(response)).toMatchObject([400, { code: "content_policy_violation" }]);
  expect(sent).toHaveLength(0);
  expect((await post("/v1/images/generations", { model: "gpt", prompt: "a card for ann@example.org" })).status).toBe(200);
  expect(sent).toMatchObject([{ prompt: "a card for [EMAIL_1]" }]);
});
