/**
 * One suite that every provider adapter passes. An adapter's test says:
 *
 *     providerContract("mistral", mistral, { target: { inferenceModelId: "mistral-large-latest", apiKey: "secret-key", params: {} } });
 *
 * and lays upstream bytes, recorded or written after the provider's documentation, under __fixtures__/<name>/:
 *
 *     <case>.answer.json                    a whole answer, as the upstream sends it
 *     <case>.sse | .ndjson | .bin           the same answer as a stream (either of the two may be missing)
 *     errors.json                           [{ name, status, headers?, body, code, retryAfterSeconds?, says? }]
 *
 * `code` is the error code, `says` a part of the caller's message. The results are stored next to them in
 * requests.golden.json, answers.golden.json and parts.golden.json: written by `UPDATE_FIXTURES=1 jest <test>`, read in reviews.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { ChatAdapter, ChatBody, ChatCall, Framing, Provider, ProviderTarget, StreamPart, UpstreamEvent } from "./provider.ts";
import { STANDARD_CALLS } from "./provider-contract-calls.ts";
import { assembleParts, deepFrozen, onlySupported, readAll, type StoredError } from "./provider-contract-support.ts";
import { readNdjson } from "./shared/ndjson-reader.ts";
import { readSse } from "./shared/sse-reader.ts";

export interface ProviderFixtures {
  readonly target: ProviderTarget;
  /** Texts besides the key that must not be in a URL or a body: account ids, tokens. */
  readonly secrets?: readonly string[];
  /** Parameters that must not be in supportedParams; `n` where the provider has none. */
  readonly unsupported?: readonly string[];
  /** Names of fields that the provider takes as null, such as an assistant's content. */
  readonly nullable?: readonly string[];
  /** Fields of the caller's body that a case needs to be read, by case. */
  readonly bodies?: Readonly<Record<string, Partial<ChatBody>>>;
  /** Needed for a framing that is neither SSE nor NDJSON. */
  readonly readEvents?: (body: AsyncIterable<Uint8Array>) => AsyncIterable<UpstreamEvent>;
}

const STREAM_ENDINGS = [".sse", ".ndjson", ".bin"];

export function providerContract(name: string, provider: Provider, fixtures: ProviderFixtures): void {
  const { chat } = provider;
  if (!chat) throw new Error(`${name} has no chat adapter`);
  const folder = join(import.meta.dirname, "__fixtures__", name);
  const files = readdirSync(folder);
  const secrets = [fixtures.target.apiKey, ...(fixtures.secrets ?? [])].filter((secret) => secret !== undefined);
  const suite: Suite = { chat, fixtures, folder, secrets, golden: openGolden(folder) };
  describe(`${name} is a provider`, () => {
    requestTests(suite);
    for (const file of files.filter((each) => each.endsWith(".answer.json"))) answerTests(suite, file.slice(0, -".answer.json".length));
    for (const file of files) {
      const ending = STREAM_ENDINGS.find((each) => file.endsWith(each));
      if (ending) streamTests(suite, file.slice(0, -ending.length), readFileSync(join(folder, file)));
    }
    errorTests(provider, suite, JSON.parse(readFileSync(join(folder, "errors.json"), "utf8")) as StoredError[]);
  });
}

interface Suite {
  readonly chat: ChatAdapter;
  readonly fixtures: ProviderFixtures;
  readonly folder: string;
  readonly secrets: readonly string[];
  readonly golden: (file: string, key: string, value: unknown) => void;
}

function requestTests({ chat, fixtures, secrets, golden }: Suite): void {
  const { target } = fixtures;
  const supported = chat.supportedParams(target.inferenceModelId);
  const build = (call: ChatCall) => chat.buildRequest(onlySupported(call, supported), target);

  test.each(Object.entries(STANDARD_CALLS))("request: %s", (name, call) => {
    const frozen = deepFrozen(structuredClone(call));
    const request = chat.buildRequest(onlySupported(frozen, supported), deepFrozen(structuredClone(target)));
    expect(frozen).toEqual(call);
    if (typeof request.body !== "string") throw new Error("a chat body is text");
    golden("requests.golden.json", name, { ...request, body: JSON.parse(request.body) as unknown });
  });

  test("no request has a key in its address or body, a null, or an undefined header", () => {
    for (const call of Object.values(STANDARD_CALLS)) {
      const { url, body, headers } = build(call);
      for (const secret of secrets) {
        expect(url).not.toContain(secret);
        expect(String(body)).not.toContain(secret);
      }
      expect(Object.values(headers).every((value) => typeof value === "string" && value !== "")).toBe(true);
      JSON.parse(String(body), (field, value: unknown) => {
        if (value === null && !(fixtures.nullable ?? []).includes(field)) throw new Error(`${field} is null in ${String(body)}`);
        return value;
      });
    }
  });

  test("the same call makes the same request", () => {
    for (const call of Object.values(STANDARD_CALLS)) expect(build(call)).toEqual(build(call));
  });

  test("a message with the nulls that answers have makes the request of one without them", () => {
    const nulls = { refusal: null, audio: null, annotations: null, function_call: null, tool_calls: null };
    const withoutNulls = (call: ChatCall) =>
      JSON.parse(String(build(call).body), (_field, value: unknown) => value ?? undefined) as unknown;
    for (const call of [STANDARD_CALLS["history of six roles"], STANDARD_CALLS["parallel tool results"]] as ChatCall[]) {
      const messages = call.body.messages.map((message) => (message.role === "assistant" ? { ...nulls, ...message } : message));
      expect(withoutNulls({ ...call, body: { ...call.body, messages } })).toEqual(withoutNulls(call));
    }
  });

  test("the limit on output is always sent", () => {
    const call = STANDARD_CALLS["text"] as ChatCall;
    expect(String(build({ ...call, maxOutputTokens: 4321 }).body)).toMatch(/"\w+":4321\b/);
  });

  test("a base address may have a slash at its end or not", () => {
    const call = STANDARD_CALLS["text"] as ChatCall;
    const at = (baseUrl: string) => chat.buildRequest(call, { ...target, baseUrl }).url;
    expect(at("https://upstream.test/base/")).toBe(at("https://upstream.test/base"));
    expect(at("https://upstream.test/base")).toMatch(/^https:\/\/upstream\.test\/base\/[^/]/);
  });

  test("parameters that the provider does not know are not said to be supported", () => {
    for (const parameter of fixtures.unsupported ?? []) expect(supported).not.toContain(parameter);
    expect(supported).toEqual([...new Set(supported)]);
  });
}

function answerTests({ chat, fixtures, folder, golden }: Suite, name: string): void {
  test(`answer: ${name}`, () => {
    const body = deepFrozen(JSON.parse(readFileSync(join(folder, `${name}.answer.json`), "utf8")) as unknown);
    const answer = chat.readAnswer(body, callFor(fixtures, name, false));
    golden("answers.golden.json", name, answer);
    for (const { message, finishReason } of answer.choices) {
      expect(["stop", "length", "tool_calls", "content_filter", "function_call"]).toContain(finishReason);
      expect(message).not.toHaveProperty("role");
      if ("tool_calls" in message) expect(message["tool_calls"]).not.toHaveLength(0);
    }
    if (answer.usage) expectUsage(answer.usage);
  });

  test(`${name}: what is no answer is refused`, () => {
    for (const body of [undefined, null, "oops", [], {}, { choices: [] }]) {
      expect(() => chat.readAnswer(body, callFor(fixtures, name, false))).toThrow(
        expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }),
      );
    }
  });
}

function streamTests(suite: Suite, name: string, bytes: Buffer): void {
  const { chat, fixtures, folder, golden } = suite;
  const call = callFor(fixtures, name, true);
  const readEvents = fixtures.readEvents ?? readerOf(chat.framing);
  const parts = (...pieces: Uint8Array[]) => readAll(chat.readStream(readEvents(asStream(pieces)), call));
  const cutAt = (...offsets: number[]) => [0, ...offsets].map((start, index) => bytes.subarray(start, offsets[index] ?? bytes.length));

  test(`stream: ${name}`, async () => {
    const whole = await parts(bytes);
    golden("parts.golden.json", name, whole);
    for (const part of whole) if (part.type === "usage") expectUsage(part.usage);
  });

  test(`stream: ${name} says what the whole answer says`, async () => {
    const file = join(folder, `${name}.answer.json`);
    if (!existsSync(file)) return;
    const answer = chat.readAnswer(JSON.parse(readFileSync(file, "utf8")), callFor(fixtures, name, false));
    const streamed = assembleParts(await parts(bytes));
    expect(streamed.choices).toEqual(assembleParts(partsOf(answer.choices)).choices);
    if (streamed.usage && answer.usage) expect(streamed.usage).toEqual(answer.usage);
  });

  test(`stream: ${name} is the same wherever its bytes are cut`, async () => {
    const whole = await parts(bytes);
    for (let offset = 0; offset <= bytes.length; offset++) expect(await parts(...cutAt(offset))).toEqual(whole);
    expect(await parts(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
    const offsets = fc
      .uniqueArray(fc.nat({ max: bytes.length }), { maxLength: 20 })
      .map((list) => list.sort((left, right) => left - right));
    await fc.assert(
      fc.asyncProperty(offsets, async (list) => expect(await parts(...cutAt(...list))).toEqual(whole)),
      { numRuns: 50 },
    );
  });

  test(`stream: ${name} that breaks off is an error, never a shorter answer`, async () => {
    const finishes = (list: readonly StreamPart[]) => list.filter(({ type }) => type === "finish");
    const whole = finishes(await parts(bytes));
    for (let offset = 0; offset < bytes.length; offset++) {
      const outcome = await parts(bytes.subarray(0, offset)).catch((error: unknown) => error);
      if (Array.isArray(outcome)) expect(finishes(outcome as StreamPart[])).toEqual(whole);
      else expect(outcome).toMatchObject({ name: "AppError", code: "UPSTREAM_UNAVAILABLE" });
    }
  });
}

function errorTests(provider: Provider, { secrets }: Suite, stored: readonly StoredError[]): void {
  test.each(stored.map((each) => [each.name, each] as const))("error: %s", (_name, { status, headers = {}, body, ...expected }) => {
    const error = provider.readError({ status, headers, body: deepFrozen(body) });
    expect(error).toMatchObject({ name: "AppError", code: expected.code });
    if (expected.retryAfterSeconds !== undefined) expect(error.retryAfterSeconds).toBe(expected.retryAfterSeconds);
    if (expected.says !== undefined) expect(error.message).toContain(expected.says);
    for (const secret of secrets) expect(error.message).not.toContain(secret);
  });

  test("a refusal of any shape is one of our errors, and 401 or 403 are never the caller's", () => {
    const codes = { 401: "UPSTREAM_UNAVAILABLE", 403: "UPSTREAM_UNAVAILABLE", 404: "UPSTREAM_UNAVAILABLE", 500: "UPSTREAM_UNAVAILABLE" };
    const more = { 408: "UPSTREAM_TIMEOUT", 429: "RATE_LIMIT_EXCEEDED", 503: "UPSTREAM_UNAVAILABLE", 504: "UPSTREAM_TIMEOUT" };
    for (const [status, code] of Object.entries({ ...codes, ...more })) {
      for (const body of [undefined, null, "<html>", [], {}, { error: null }, { error: "text" }, { error: { message: {} } }]) {
        expect(provider.readError({ status: Number(status), headers: {}, body })).toMatchObject({ name: "AppError", code });
      }
    }
  });
}

function callFor(fixtures: ProviderFixtures, name: string, stream: boolean): ChatCall {
  const body = { model: "a-group", messages: [{ role: "user", content: "Hello" }], ...fixtures.bodies?.[name] };
  return deepFrozen({ body, stream, maxOutputTokens: 256 });
}

function readerOf(framing: Framing): (body: AsyncIterable<Uint8Array>) => AsyncIterable<UpstreamEvent> {
  if (framing === "sse") return readSse;
  if (framing === "ndjson") return readNdjson;
  throw new Error(`give readEvents for ${framing}`);
}

/** A whole answer as the parts of its stream, so that both are assembled alike. */
function partsOf(choices: ReturnType<ChatAdapter["readAnswer"]>["choices"]): StreamPart[] {
  return choices.flatMap(({ index: choice, message: { content, ...fields }, finishReason: reason }): StreamPart[] => [
    { type: "text-delta", choice, text: typeof content === "string" ? content : "" },
    { type: "other-delta", choice, fields, text: "" },
    { type: "finish", choice, reason },
  ]);
}

function expectUsage(usage: NonNullable<ReturnType<ChatAdapter["readAnswer"]>["usage"]>): void {
  const { lacksPrompt: _lacksPrompt, amounts: _amounts, image: _image, ...counts } = usage;
  expect(Object.values(counts).every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)).toBe(true);
  expect(usage.promptTokens).toBeGreaterThanOrEqual(usage.cachedTokens + usage.cacheWriteTokens);
  expect(usage.completionTokens).toBeGreaterThanOrEqual(usage.reasoningTokens);
}

async function* asStream(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield piece;
}

function openGolden(folder: string): Suite["golden"] {
  return (file, key, value) => {
    const path = join(folder, file);
    const stored = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>) : {};
    const actual = JSON.parse(JSON.stringify(value)) as unknown;
    if (process.env["UPDATE_FIXTURES"] === "1") writeFileSync(path, `${JSON.stringify({ ...stored, [key]: actual }, undefined, 1)}\n`);
    else expect({ [key]: actual }).toEqual({ [key]: stored[key] });
  };
}
