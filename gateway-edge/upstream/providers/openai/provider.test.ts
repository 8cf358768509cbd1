import type { ChatAdapter, ChatCall, CompletionsAdapter, ProviderTarget } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { readAll } from "../provider-contract-support.ts";
import { openai } from "./provider.ts";

const target: ProviderTarget = {
  inferenceModelId: "gpt-4.1",
  apiKey: "secret-key-of-ours",
  params: { organization: "org-Secret12345", project: "proj_Secret12345", extra_headers: { "X-Team": "a", "x-none": null } },
};

providerContract("openai", openai, {
  target,
  secrets: ["org-Secret12345", "proj_Secret12345", "org-AbCdEf123456"],
  nullable: ["content"],
  bodies: { "logprobs-two-choices": { n: 2 } },
});

const call = (body: object = {}): ChatCall => ({
  body: { messages: [{ role: "user", content: "Hi" }], ...body },
  stream: false,
  maxOutputTokens: 9,
});
const bodyOf = (request: { body: unknown }) => JSON.parse(String(request.body)) as Record<string, unknown>;
const chunks = async function* (...texts: string[]) {
  for (const data of texts) yield { event: undefined, data };
};

test("a reasoning model gets its limit under the new name, and takes no temperature", () => {
  for (const inferenceModelId of ["o3", "o4-mini", "gpt-5-mini", "gpt-5.1", "ft:o4-mini:us"]) {
    const body = bodyOf(openai.chat?.buildRequest(call({ max_tokens: 50 }), { ...target, inferenceModelId }) ?? { body: "" });
    expect(body).toMatchObject({ max_completion_tokens: 9 });
    expect(body).not.toHaveProperty("max_tokens");
    expect(openai.chat?.supportedParams(inferenceModelId)).not.toContain("temperature");
    expect(openai.chat?.supportedParams(inferenceModelId)).toContain("reasoning_effort");
  }
  expect(openai.chat?.supportedParams("gpt-5-chat-latest")).toContain("temperature");
  expect(openai.chat?.supportedParams("gpt-4o")).not.toContain("reasoning_effort");
});

test("an error in a stream is that error; [DONE] before anything is broken off", async () => {
  const read = (...texts: string[]) => readAll((openai.chat as ChatAdapter).readStream(chunks(...texts), call()));
  await expect(read('{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}')).rejects.toMatchObject({
    code: "RATE_LIMIT_EXCEEDED",
  });
  await expect(read("[DONE]")).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  await expect(read("not json")).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
});

test("embeddings: numbers are asked for, tokens are taken, the order is that of the input", () => {
  const { embeddings } = openai;
  const request = embeddings?.buildRequest({ input: [[1, 2], [3]], dimensions: 2, body: { user: "u", encoding_format: "base64" } }, target);
  expect(bodyOf(request ?? { body: "" })).toEqual({
    model: "gpt-4.1",
    input: [[1, 2], [3]],
    dimensions: 2,
    user: "u",
    encoding_format: "float",
  });
  const base64 = Buffer.from(Float32Array.of(0.5, -1).buffer).toString("base64");
  const answer = embeddings?.readAnswer({
    data: [
      { index: 1, embedding: base64 },
      { index: 0, embedding: [1, 2] },
    ],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
  expect(answer?.vectors).toEqual([
    [1, 2],
    [0.5, -1],
  ]);
  expect(answer?.usage?.promptTokens).toBe(3);
  expect(embeddings?.supportedParams("text-embedding-ada-002")).not.toContain("dimensions");
  expect(() => embeddings?.readAnswer({ data: [] })).toThrow(expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }));
});

test("legacy completions, whole and streamed", async () => {
  const completions = openai.completions as CompletionsAdapter;
  const request = completions.buildRequest({ body: { prompt: "a", stream: true }, stream: true, maxOutputTokens: 5 }, target);
  expect(request.url).toBe("https://api.openai.com/v1/completions");
  expect(bodyOf(request)).toEqual({
    model: "gpt-4.1",
    prompt: "a",
    max_tokens: 5,
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(completions.readAnswer({ choices: [{ index: 0, text: "b", finish_reason: "length", logprobs: null }] })).toMatchObject({
    choices: [{ text: "b", finishReason: "length" }],
  });
  const events = chunks(
    '{"choices":[{"index":0,"text":"b","finish_reason":null}]}',
    '{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}',
  );
  expect(await readAll(completions.readStream(events))).toEqual([
    { type: "text-delta", choice: 0, text: "b" },
    { type: "finish", choice: 0, reason: "stop" },
  ]);
  await expect(readAll(completions.readStream(chunks('{"choices":[{"index":0,"text":"b"}]}')))).rejects.toMatchObject({
    code: "UPSTREAM_UNAVAILABLE",
  });
});

test("moderations and speech carry the caller's fields and our model", () => {
  expect(bodyOf(openai.moderations?.buildRequest({ body: { model: "group", input: "x" } }, target) ?? { body: "" })).toEqual({
    model: "gpt-4.1",
    input: "x",
  });
  expect(openai.moderations?.readAnswer({ id: "m", results: [] })).toEqual({ id: "m", results: [] });
  expect(() => openai.moderations?.readAnswer({})).toThrow(expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }));
  expect(openai.speech?.buildRequest({ body: { input: "x", voice: "ash" } }, target).url).toBe("https://api.openai.com/v1/audio/speech");
});

test("a form is streamed through: our model, fields in order, the file last, no field from a file's name", async () => {
  async function* content() {
    yield Buffer.from("RIFF");
    yield Buffer.from("data");
  }
  const fields = [
    ["model", "group"],
    ["language", "en"],
    ["timestamp_granularities[]", "word"],
    ["timestamp_granularities[]", "segment"],
  ] as const;
  const file = { field: "file", name: 'a"\r\nx: y.wav', contentType: "audio/wav\r\nx: y", size: 8, content: content() };
  const request = openai.transcriptions?.buildRequest({ fields, files: [file] }, target);
  const text = Buffer.concat(await readAll(request?.body as AsyncIterable<Uint8Array>)).toString();
  const form = await new Response(text, { headers: { "content-type": request?.headers["content-type"] ?? "" } }).formData();
  expect([...form.keys()]).toEqual(["model", "language", "timestamp_granularities[]", "timestamp_granularities[]", "file"]);
  expect(form.get("model")).toBe("gpt-4.1");
  expect(await (form.get("file") as File).text()).toBe("RIFFdata");
  expect(text).not.toContain("\nx: y");
  expect(request?.bodyBytes).toBe(text.length);
  expect(request?.headers).toMatchObject({ authorization: "Bearer secret-key-of-ours", "x-team": "a" });
});
