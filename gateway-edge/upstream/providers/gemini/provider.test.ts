import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChatAdapter, ChatBody, ChatCall, Fields, StreamPart } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { readSse } from "../shared/sse-reader.ts";
import { callId, LOST_SIGNATURE, signatureIn } from "./call-id.ts";
import { gemini } from "./provider.ts";

const chat = gemini.chat as ChatAdapter;
const target = (inferenceModelId: string) => ({ inferenceModelId, apiKey: "AIza-secret-key-1234567890", params: {} });
const callOf = (body: Partial<ChatBody>, stream = false): ChatCall => ({
  body: { messages: [{ role: "user", content: "Hello" }], ...body },
  stream,
  maxOutputTokens: 256,
});
interface SentBody {
  readonly systemInstruction?: unknown;
  readonly contents: readonly { readonly role: string; readonly parts: readonly Fields[] }[];
  readonly generationConfig: Fields;
}
const bodyFor = (body: Partial<ChatBody>, model = "gemini-2.5-flash") =>
  JSON.parse(String(chat.buildRequest(callOf(body), target(model)).body)) as SentBody;
const callsIn = (answer: unknown) =>
  chat.readAnswer(answer, callOf({})).choices.flatMap(({ message }) => message["tool_calls"] as Fields[]);
const fixture = (name: string) => JSON.parse(readFileSync(join(__dirname, "../__fixtures__/gemini", name), "utf8")) as Fields;

async function partsOf(...chunks: unknown[]): Promise<StreamPart[]> {
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  const parts: StreamPart[] = [];
  for await (const part of chat.readStream(readSse(bytes), callOf({}, true))) parts.push(part);
  return parts;
}

providerContract("gemini", gemini, {
  target: target("gemini-2.5-flash"),
  unsupported: ["logit_bias", "parallel_tool_calls", "user", "store"],
});

test("the key travels in a header, and a stream is asked for as events", () => {
  const { url, headers } = chat.buildRequest(callOf({}, true), target("gemini-2.5-flash"));
  expect(url).toBe("https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
  expect(headers["x-goog-api-key"]).toBe("AIza-secret-key-1234567890");
});

describe("conversation", () => {
  const call = (id: string, extra: object = {}) => ({ id, type: "function", function: { name: "get_weather", arguments: "{}" }, ...extra });

  test("all system texts are sent, in order, whatever their position", () => {
    const { systemInstruction, contents } = bodyFor({
      messages: [
        {
          role: "system",
          content: [
            { type: "text", text: "One." },
            { type: "text", text: "Two." },
          ],
        },
        { role: "user", content: "Hi" },
        { role: "developer", content: "Three." },
      ],
    });
    expect(systemInstruction).toEqual({ parts: [{ text: "One." }, { text: "Two." }, { text: "Three." }] });
    expect(contents).toEqual([{ role: "user", parts: [{ text: "Hi" }] }]);
  });

  test("a model without a system role gets its text in the first turn", () => {
    const body = bodyFor(
      {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Hi" },
        ],
      },
      "gemma-3-27b-it",
    );
    expect(body).not.toHaveProperty("systemInstruction");
    expect(body.contents).toEqual([{ role: "user", parts: [{ text: "Be brief." }, { text: "Hi" }] }]);
  });

  test("results have the name of their function and the order of the calls", () => {
    const { contents } = bodyFor({
      messages: [
        { role: "user", content: "Weather?" },
        { role: "assistant", tool_calls: [call("a"), { ...call("b"), function: { name: "get_time", arguments: '{"zone":"CET"}' } }] },
        { role: "tool", tool_call_id: "b", content: '{"time":"12:00"}' },
        { role: "tool", tool_call_id: "a", content: "rain" },
        { role: "user", content: "Thanks" },
      ],
    });
    expect(contents[2]).toEqual({
      role: "user",
      parts: [
        { functionResponse: { name: "get_weather", response: { result: "rain" } } },
        { functionResponse: { name: "get_time", response: { time: "12:00" } } },
        { text: "Thanks" },
      ],
    });
  });

  test("a result of no call is the caller's mistake", () => {
    expect(() => bodyFor({ messages: [{ role: "tool", tool_call_id: "x", content: "1" }] })).toThrow(
      expect.objectContaining({ code: "INVALID_REQUEST", param: "messages" }),
    );
  });

  test("a signature comes back from our field, or out of the id of a client that dropped it, else as the sentinel", () => {
    const made = callsIn(fixture("tools.answer.json"));
    const signature = "EpEgCo4gAb4+9vvWwdN+NkNiCCwrqvFI8uf9IiD2/Q==";
    expect(made[0]).toMatchObject({ extra_content: { google: { thought_signature: signature } } });
    const signaturesFor = (toolCalls: unknown, model = "gemini-3.1-pro-preview") =>
      bodyFor(
        {
          messages: [
            { role: "user", content: "?" },
            { role: "assistant", content: null, tool_calls: toolCalls },
          ],
        },
        model,
      ).contents[1]?.parts.map((part: Fields) => part["thoughtSignature"]);
    const plain = made.map(({ id, type, function: called }) => ({ id, type, function: called }));
    expect(signaturesFor(made)).toEqual([signature, undefined, undefined]);
    expect(signaturesFor(plain)).toEqual([signature, undefined, undefined]);
    expect(signaturesFor([call("call_1"), call("call_2")])).toEqual([LOST_SIGNATURE, undefined]);
    expect(signaturesFor([call("call_1")], "gemini-2.5-pro")).toEqual([undefined]);
  });

  test("ids are the same for the same answer and different for each call of it", () => {
    const ids = () => callsIn(fixture("tools.answer.json")).map(({ id }) => id);
    expect(ids()).toEqual(ids());
    expect(new Set(ids()).size).toBe(3);
    expect(ids().every((id) => /^[A-Za-z0-9_-]+$/.test(String(id)))).toBe(true);
  });

  test.each(["AAAA", "+/+/AA==", "abc=", "not base64!"])("the signature %s is whole in the id or not there", (signature) => {
    const made = { responseId: "r", turn: 1, choice: 0, index: 0, name: "f", arguments: "{}", signature };
    expect([signature, undefined]).toContain(signatureIn(callId(made)));
    expect(signatureIn(`call_1__thought__${signature === "not base64!" ? "AA==" : signature}`)).toBeDefined();
  });

  test("images, sounds and files go as bytes or as addresses", () => {
    const part = (value: object) => bodyFor({ messages: [{ role: "user", content: [value] }] }).contents[0]?.parts[0];
    expect(part({ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } })).toEqual({
      inlineData: { mimeType: "image/png", data: "AAAA" },
    });
    expect(part({ type: "image_url", image_url: "https://a.test/cat.webp?x=1" })).toEqual({
      fileData: { mimeType: "image/webp", fileUri: "https://a.test/cat.webp?x=1" },
    });
    expect(part({ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } })).toEqual({
      inlineData: { mimeType: "audio/mp3", data: "AAAA" },
    });
    expect(part({ type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } })).toEqual({
      inlineData: { mimeType: "application/pdf", data: "AAAA" },
    });
    const fileUri = "https://generativelanguage.googleapis.com/v1beta/files/a1b2";
    expect(part({ type: "file", file: { file_id: fileUri, filename: "a.txt" } })).toEqual({
      fileData: { mimeType: "text/plain", fileUri },
    });
    for (const closed of ["gs://bucket/a.txt", "files/a1b2"]) {
      const refused = expect.objectContaining({ code: "UNSUPPORTED_PARAMETER" });
      expect(() => part({ type: "file", file: { file_id: closed } })).toThrow(refused);
      expect(() => part({ type: "image_url", image_url: { url: closed } })).toThrow(refused);
    }
    expect(() => part({ type: "hologram" })).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
  });
});

describe("generation", () => {
  test.each([
    ["gemini-2.5-flash", "high", { thinkingBudget: 4096, includeThoughts: true }],
    ["gemini-2.5-flash", "none", { thinkingBudget: 0, includeThoughts: false }],
    ["gemini-2.5-pro", "minimal", { thinkingBudget: 128, includeThoughts: true }],
    ["gemini-3-pro-preview", "medium", { thinkingLevel: "high", includeThoughts: true }],
    ["gemini-3.7-flash", "minimal", { thinkingLevel: "low", includeThoughts: true }],
    ["models/gemini-3-flash-preview", "minimal", { thinkingLevel: "minimal", includeThoughts: true }],
    ["gemini-2.0-flash", "high", undefined],
  ])("%s thinks at effort %s as its row says", (model, effort, expected) => {
    expect(bodyFor({ reasoning_effort: effort }, model).generationConfig["thinkingConfig"]).toEqual(expected);
    expect(chat.supportedParams(model).includes("reasoning_effort")).toBe(expected !== undefined);
  });

  test("every number has its place", () => {
    const body = { temperature: 0, top_p: 0.5, top_k: 3, n: 2, seed: 7, frequency_penalty: 0.1, presence_penalty: 0.2 };
    expect(bodyFor({ ...body, stop: "END", logprobs: true, top_logprobs: 3 }).generationConfig).toEqual({
      maxOutputTokens: 256,
      temperature: 0,
      topP: 0.5,
      topK: 3,
      candidateCount: 2,
      seed: 7,
      frequencyPenalty: 0.1,
      presencePenalty: 0.2,
      stopSequences: ["END"],
      responseLogprobs: true,
      logprobs: 3,
    });
    expect(() => bodyFor({ stop: ["1", "2", "3", "4", "5", "6"] })).toThrow(expect.objectContaining({ param: "stop" }));
  });
});

describe("failures inside a success", () => {
  test("a blocked prompt is a violation of policy, whole and streamed", async () => {
    const blocked = fixture("refused/prompt-blocked.json");
    const violation = expect.objectContaining({ code: "CONTENT_POLICY_VIOLATION", message: expect.stringContaining("PROHIBITED_CONTENT") });
    expect(() => chat.readAnswer(blocked, callOf({}))).toThrow(violation);
    await expect(partsOf(blocked)).rejects.toEqual(violation);
  });

  test("a malformed call without content is an error, never an empty success", async () => {
    const failed = fixture("refused/malformed-call.json");
    const unusable = expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE", internal: "finishReason MALFORMED_FUNCTION_CALL" });
    expect(() => chat.readAnswer(failed, callOf({}))).toThrow(unusable);
    await expect(partsOf(failed)).rejects.toEqual(unusable);
  });

  test("an error frame is that error, with or without a list around it", async () => {
    const frame = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };
    await expect(partsOf(frame)).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
    await expect(partsOf([{ error: { ...frame.error, code: 429, status: "RESOURCE_EXHAUSTED" } }])).rejects.toMatchObject({
      code: "RATE_LIMIT_EXCEEDED",
    });
  });

  test("a limit is not hidden by calls made before it", async () => {
    const parts = await partsOf(
      { candidates: [{ content: { parts: [{ functionCall: { name: "f", args: {} } }] } }] },
      { candidates: [{ finishReason: "MAX_TOKENS" }] },
    );
    expect(parts.at(-1)).toEqual({ type: "finish", choice: 0, reason: "length" });
  });
});

describe("embeddings", () => {
  const embeddings = gemini.embeddings as NonNullable<typeof gemini.embeddings>;

  test("one request for each text, with its length and purpose", () => {
    const call = { input: ["a", "b"], dimensions: 256, body: { input_type: "search_query" } };
    const { url, body } = embeddings.buildRequest(call, target("gemini-embedding-001"));
    expect(url).toMatch(/\/v1beta\/models\/gemini-embedding-001:batchEmbedContents$/);
    expect(JSON.parse(String(body)).requests).toEqual(
      ["a", "b"].map((text) => ({
        model: "models/gemini-embedding-001",
        content: { parts: [{ text }] },
        taskType: "RETRIEVAL_QUERY",
        outputDimensionality: 256,
      })),
    );
    expect(embeddings.batchMax?.("gemini-embedding-001")).toBe(100);
  });

  test("vectors come in order, of length 1", () => {
    expect(embeddings.readAnswer(fixture("embeddings.json"))).toEqual({
      vectors: [
        [0.6, 0.8],
        [0.6, 0.8],
      ],
      usage: undefined,
    });
    expect(() => embeddings.readAnswer({})).toThrow(expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }));
  });
});

test("a report without the prompt is used as far as it goes; one without any count is none", () => {
  const answer = (usageMetadata: object) => ({
    candidates: [{ content: { parts: [{ text: "A dog." }] }, finishReason: "STOP" }],
    usageMetadata,
  });
  const usageOf = (usageMetadata: object) => chat.readAnswer(answer(usageMetadata), callOf({})).usage;
  expect(usageOf({ candidatesTokenCount: 23, thoughtsTokenCount: 67 })).toMatchObject({
    promptTokens: 0,
    completionTokens: 90,
    reasoningTokens: 67,
    lacksPrompt: true,
  });
  expect(usageOf({ promptTokenCount: 5, candidatesTokenCount: 2 })).not.toHaveProperty("lacksPrompt");
  expect(usageOf({})).toBeUndefined();
});
