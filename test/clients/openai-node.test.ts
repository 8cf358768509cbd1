import OpenAI, { AuthenticationError, NotFoundError, PermissionDeniedError, RateLimitError } from "openai";
import { VERSION } from "openai/version";
import { type System, startSystem } from "../helpers/system.ts";
import { CASES, type CaseId, type ClientSetup, prepareClients, printCase } from "./cases.ts";

const CLIENT = `openai-node ${VERSION}`;
const messages = [{ role: "user" as const, content: "one two three" }];

let system: System;
let setup: ClientSetup;
/** Requests that reached the wire since the client was made. */
let attempts = 0;

beforeAll(async () => {
  system = await startSystem();
  setup = await prepareClients(system);
});
afterAll(() => system?.stop());

function client(apiKey: string, options: { baseURL?: string; defaultHeaders?: Record<string, string> } = {}): OpenAI {
  attempts = 0;
  const counting: typeof fetch = (input, init) => {
    attempts++;
    return fetch(input, init);
  };
  return new OpenAI({ apiKey, baseURL: `${system.url}/v1`, maxRetries: 2, fetch: counting, ...options });
}

const chat = (openai: OpenAI, more: object = {}) => openai.chat.completions.create({ model: "echo", messages, ...more });

const cases: Record<CaseId, () => Promise<void>> = {
  "base-url-plain": async () => {
    const answer = await chat(client(setup.key, { baseURL: setup.baseUrls[0] ?? "" }));
    expect(answer.choices[0]?.message.content).toBe("one two three");
  },
  "base-url-v1": async () => {
    const answer = await chat(client(setup.key, { baseURL: setup.baseUrls[1] ?? "" }));
    expect(answer.choices[0]?.message.content).toBe("one two three");
  },
  chat: async () => {
    const answer = await chat(client(setup.key));
    expect(answer).toMatchObject({ object: "chat.completion", model: "echo", usage: { prompt_tokens: 3, completion_tokens: 3 } });
    expect(answer.choices).toMatchObject([{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "one two three" } }]);
    expect(attempts).toBe(1);
  },
  stream: async () => {
    const stream = await client(setup.key).chat.completions.create({ model: "echo", messages, stream: true });
    const [texts, reasons]: [string[], (string | null)[]] = [[], []];
    for await (const chunk of stream) {
      expect(chunk).toMatchObject({ object: "chat.completion.chunk" });
      texts.push(chunk.choices[0]?.delta.content ?? "");
      reasons.push(chunk.choices[0]?.finish_reason ?? null);
    }
    expect(texts.join("")).toBe("one two three");
    expect(reasons.filter(Boolean)).toEqual(["stop"]);
  },
  "stream-helper": async () => {
    const stream = client(setup.key).chat.completions.stream({ model: "echo", messages });
    const deltas: string[] = [];
    stream.on("content", (delta) => deltas.push(delta));
    const whole = await stream.finalChatCompletion();
    expect(deltas.join("")).toBe("one two three");
    expect(whole.choices[0]).toMatchObject({ finish_reason: "stop", message: { role: "assistant", content: "one two three" } });
  },
  "stream-usage": async () => {
    const request = { model: "echo", messages, stream: true as const, stream_options: { include_usage: true } };
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await client(setup.key).chat.completions.create(request)) chunks.push(chunk);
    expect(chunks.filter((chunk) => chunk.usage)).toHaveLength(1);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
      cost_nano: 9_000,
    });
  },
  "models-list": async () => {
    const ids: string[] = [];
    for await (const model of client(setup.key).models.list()) ids.push(model.id);
    expect(ids).toEqual(["echo"]);
  },
  "models-retrieve": async () => {
    expect(await client(setup.key).models.retrieve("echo")).toMatchObject({ id: "echo", object: "model", owned_by: "echo" });
  },
  "wrong-key": async () => {
    const error = await failure(chat(client("sk-wrong")));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: "invalid_api_key" });
    expect(attempts).toBe(1);
  },
  "unknown-model": async () => {
    const error = await failure(client(setup.key).chat.completions.create({ model: "no-such-model", messages }));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, code: "model_not_found" });
    expect(await failure(client(setup.key).models.retrieve("no-such-model"))).toBeInstanceOf(NotFoundError);
  },
  "blocked-team": async () => {
    const error = await failure(chat(client(setup.blockedKey)));
    expect(error).toBeInstanceOf(PermissionDeniedError);
    expect(error).toMatchObject({ status: 403, code: "TEAM_BLOCKED" });
    expect(attempts).toBe(1);
  },
  quota: async () => {
    const error = await failure(chat(client(setup.emptyKey)));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: "QUOTA_EXCEEDED", type: "insufficient_quota" });
    expect(attempts).toBe(1);
  },
  "max-tokens": async () => {
    for (const limit of [{ max_tokens: 2 }, { max_completion_tokens: 2 }]) {
      const answer = await chat(client(setup.key), limit);
      expect(answer).toMatchObject({
        choices: [{ finish_reason: "length", message: { content: "one two" } }],
        usage: { completion_tokens: 2 },
      });
    }
  },
  "default-headers": async () => {
    // How the hosted document tells people to use a stock client: the key in our header, a dummy where the client insists.
    const headers = { "x-gw-api-key": setup.key };
    expect((await chat(client("dummy", { defaultHeaders: headers }))).choices[0]?.message.content).toBe("one two three");
    const hosted = client("dummy", { baseURL: `${system.hostedUrl}/v1`, defaultHeaders: headers });
    expect((await chat(hosted)).choices[0]?.message.content).toBe("one two three");
  },
};

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error("it did not fail"),
    (error: unknown) => error,
  );
}

test.each(CASES)("the official Node client works as it is: %s", async (id) => {
  let passed = false;
  try {
    await cases[id]();
    passed = true;
  } finally {
    printCase(CLIENT, id, passed);
  }
});
