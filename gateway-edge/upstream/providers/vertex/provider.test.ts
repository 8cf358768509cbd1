import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChatAdapter, ChatCall, EmbeddingsAdapter, Fields } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { vertex } from "./provider.ts";

const chat = vertex.chat as ChatAdapter;
const embeddings = vertex.embeddings as EmbeddingsAdapter;
const credentials = { type: "service_account", project_id: "acme-prod", client_email: "a@acme.test", private_key: "-----secret-----" };
const target = (params: Fields, inferenceModelId = "gemini-3.1-pro-preview") => ({ inferenceModelId, params });
const call: ChatCall = { body: { messages: [{ role: "user", content: "Hello" }] }, stream: false, maxOutputTokens: 256 };
const unreachable = expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" });

providerContract("vertex", vertex, {
  target: target({ vertex_project: "acme-prod", vertex_location: "europe-west4", vertex_credentials: credentials }),
  secrets: ["-----secret-----"],
  unsupported: ["logit_bias", "parallel_tool_calls"],
});

test("the address has the location in its host, but for the global one", () => {
  const at = (params: Fields, model?: string) => chat.buildRequest(call, target(params, model)).url;
  const rest = "publishers/google/models/gemini-3.1-pro-preview:generateContent";
  expect(at({ vertex_project: "p", vertex_location: "europe-west4" })).toBe(
    `https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/${rest}`,
  );
  expect(at({ vertex_project: "p", vertex_location: "global" })).toBe(
    `https://aiplatform.googleapis.com/v1/projects/p/locations/global/${rest}`,
  );
  expect(at({ vertex_project: "p" }, "4711")).toMatch(/\/locations\/us-central1\/endpoints\/4711:generateContent$/);
});

test("credentials are an object or its text, go to the signer only, and name the project", () => {
  for (const vertex_credentials of [credentials, JSON.stringify(credentials)]) {
    const request = chat.buildRequest(call, target({ vertex_credentials }));
    expect(request.signing).toEqual({ type: "google", credentials });
    expect(request.url).toContain("/projects/acme-prod/");
    expect(JSON.stringify([request.url, request.headers, request.body])).not.toContain("secret");
  }
  expect(chat.buildRequest(call, target({ vertex_project: "p" })).signing).toEqual({ type: "google", credentials: undefined });
});

test("a wrong setting is refused before anything is sent", () => {
  expect(() => chat.buildRequest(call, target({}))).toThrow(unreachable);
  expect(() => chat.buildRequest(call, target({ vertex_project: "p", vertex_credentials: "/keys/a.json" }))).toThrow(unreachable);
  expect(() => chat.buildRequest(call, target({ vertex_project: "p", vertex_location: "evil.test/" }))).toThrow(unreachable);
});

test("embeddings are predictions, with their tokens counted by Google", () => {
  const settings = { vertex_project: "p" };
  const { url, body } = embeddings.buildRequest({ input: ["a", "b"], dimensions: 256, body: {} }, target(settings, "text-embedding-005"));
  expect(url).toMatch(/models\/text-embedding-005:predict$/);
  expect(JSON.parse(String(body))).toEqual({ instances: [{ content: "a" }, { content: "b" }], parameters: { outputDimensionality: 256 } });
  const answer = JSON.parse(readFileSync(join(__dirname, "../__fixtures__/vertex/embeddings.json"), "utf8"));
  expect(embeddings.readAnswer(answer)).toMatchObject({
    vectors: [
      [0.6, 0.8],
      [0, 1],
    ],
    usage: { promptTokens: 7, completionTokens: 0 },
  });
  expect([embeddings.batchMax?.("gemini-embedding-001"), embeddings.batchMax?.("text-embedding-005")]).toEqual([1, 250]);
});

describe("Claude", () => {
  const settings = { vertex_project: "p", vertex_location: "us-east5", anthropic_beta: ["own-2026-01-01"] };
  const claude = target(settings, "claude-sonnet-4-5@20250929");
  const models = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models";
  const body = { model: "x", max_tokens: 9, messages: [{ role: "user", content: [{ type: "hologram" }] }], stream: true };

  test("a message passes at Google's address, with the version in its body and the betas in a header", () => {
    const sent = vertex.messages?.buildRequest({ body, stream: true, maxOutputTokens: 9, betas: ["b-2025-01-01"] }, claude);
    expect(sent?.url).toBe(`${models}/claude-sonnet-4-5%4020250929:streamRawPredict`);
    const { model: _model, ...rest } = body;
    expect(JSON.parse(String(sent?.body))).toEqual({ ...rest, anthropic_version: "vertex-2023-10-16" });
    expect([sent?.headers["anthropic-beta"], sent?.signing]).toEqual(["own-2026-01-01,b-2025-01-01", { type: "google" }]);
    expect([vertex.messages?.isSpokenBy(claude), vertex.messages?.isSpokenBy(target(settings))]).toEqual([true, false]);
  });

  test("a chat is translated to a message, and its answer is read, whole and streamed", async () => {
    const sent = chat.buildRequest(call, claude);
    expect([sent.url, JSON.parse(String(sent.body))]).toMatchObject([
      `${models}/claude-sonnet-4-5%4020250929:rawPredict`,
      { anthropic_version: "vertex-2023-10-16", max_tokens: 256, messages: [{ role: "user" }] },
    ]);
    expect([chat.takesBlocks?.("claude-3-haiku"), chat.takesBlocks?.("gemini-2.5-flash")]).toEqual([true, false]);
    const answer = { type: "message", content: [{ type: "text", text: "Hi." }], stop_reason: "end_turn", usage: { output_tokens: 2 } };
    expect(chat.readAnswer(answer, call).choices).toMatchObject([{ message: { content: "Hi." } }]);
    const event = (fields: { type: string }) => ({ event: fields.type, data: JSON.stringify(fields) });
    const events = (async function* () {
      yield event({ type: "message_start", message: {} } as { type: string });
      yield event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi." } } as { type: string });
      yield event({ type: "message_delta", delta: { stop_reason: "end_turn" } } as { type: string });
      yield event({ type: "message_stop" });
    })();
    const parts = [];
    for await (const part of chat.readStream(events, call)) parts.push(part);
    expect(parts).toEqual([
      { type: "text-delta", choice: 0, text: "Hi." },
      { type: "finish", choice: 0, reason: "stop" },
    ]);
  });

  test("tokens are counted by Anthropic's model", () => {
    const sent = vertex.remoteCount?.buildRequest({ ...call, proxied: { body: { messages: body.messages } } }, claude);
    expect(sent?.url).toBe(`${models}/count-tokens:rawPredict`);
    expect(JSON.parse(String(sent?.body))).toMatchObject({ model: "claude-sonnet-4-5@20250929", messages: body.messages });
    expect(vertex.remoteCount?.readAnswer({ input_tokens: 7 })).toBe(7);
  });
});
