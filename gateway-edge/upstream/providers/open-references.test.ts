import type { ChatBody, Fields, Provider, ProviderTarget } from "./provider.ts";
import { providers } from "./registry.ts";
import { refuseClosedReferences } from "./shared/open-references.ts";

const params = { aws_region_name: "eu-west-1", vertex_project: "p" };
const target: ProviderTarget = { inferenceModelId: "m", baseUrl: "https://upstream.test", apiKey: "k", params };
const claude: ProviderTarget = { ...target, inferenceModelId: "claude-sonnet-4-5" };
const all: readonly Provider[] = [...new Set(providers.values())];

/** Objects that only the operator may read, in every spelling that one of the providers takes, and some that none should. */
const CLOSED = [
  "s3://archive/usage/2026-10.pdf",
  "S3://archive/a.png",
  " s3://archive/a.png",
  "gs://victim/a.png",
  "az://container/a.png",
  "abfss://container@account/a.png",
  "arn:aws:s3:::archive/a.png",
  "file:///etc/passwd",
  "http:archive/a.png",
];
/** Parts of a message that name media, in OpenAI's format. */
const PARTS: readonly ((reference: string) => Fields)[] = [
  (url) => ({ type: "image_url", image_url: { url, detail: "low" } }),
  (url) => ({ type: "image_url", image_url: url }),
  (url) => ({ type: "video_url", video_url: { url } }),
  (url) => ({ type: "document_url", document_url: url }),
  (id) => ({ type: "file", file: { file_id: id } }),
  (data) => ({ type: "file", file: { file_data: data, filename: "a.pdf" } }),
  (data) => ({ type: "input_audio", input_audio: { data, format: "wav" } }),
];
const refused = (param: RegExp) =>
  expect.objectContaining({
    code: "UNSUPPORTED_PARAMETER",
    param: expect.stringMatching(param),
    message: expect.stringContaining("Send the content as a data URL."),
  });
const call = (body: Fields, stream = false) => ({ body: body as ChatBody, stream, maxOutputTokens: 9 });

/** Messages with each of these parts: of a user, and of the result of a tool. */
const BODIES: readonly Fields[] = CLOSED.flatMap((reference) => PARTS.map((part) => part(reference))).flatMap((part) => {
  const calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
  const result = { role: "tool", tool_call_id: "c", content: [part] };
  return [
    { messages: [{ role: "user", content: [{ type: "text", text: "x" }, part] }] },
    { messages: [{ role: "user", content: "x" }, { role: "assistant", content: null, tool_calls: calls }, result] },
  ];
});
const AT_PART = /^messages\[\d\]\.content\[\d\]\.(image_url|video_url|document_url|file|input_audio)(\.(url|file_id|file_data|data))?$/;

const chats = all.flatMap(({ kind, chat }) => (chat ? [[kind, chat] as const] : []));
test.each(chats)(
  "%s: a reference that the provider would read as the operator never reaches it, in any part of a message",
  (_kind, chat) => {
    for (const body of BODIES) {
      expect(() => chat.buildRequest(call(body), target)).toThrow(refused(AT_PART));
      expect(() => chat.buildRequest(call(body, true), claude)).toThrow(refused(AT_PART));
    }
  },
);

const counters = all.flatMap(({ kind, remoteCount }) => (remoteCount ? [[kind, remoteCount] as const] : []));
test.each(counters)("%s: nor in a message to count", (_kind, counter) => {
  for (const body of BODIES) expect(() => counter.buildRequest(call(body), target)).toThrow(refused(AT_PART));
});

const speaking = (api: "messages" | "responses") =>
  all.flatMap((provider) => (provider[api] ? [[provider.kind, provider[api]] as const] : []));

test.each(speaking("messages"))("%s: nor in a message that passes unchanged", (_kind, messages) => {
  for (const reference of CLOSED) {
    const sources: Fields[] = [
      { type: "url", url: reference },
      { type: "s3", uri: reference },
      { type: "file", file_id: reference },
    ];
    for (const source of sources) {
      const image = { type: "image", source };
      const contents = [
        [image],
        [{ type: "document", source: { type: "content", content: [image] } }],
        [{ type: "tool_result", content: [image] }],
      ];
      for (const content of contents) {
        const body = { messages: [{ role: "user", content }] };
        expect(() => messages.buildRequest(call(body), claude)).toThrow(
          refused(/^messages\[0\]\.content\[0\]\..*source\.(url|uri|file_id)$/),
        );
      }
    }
  }
});

test.each(speaking("responses"))("%s: nor in a response that passes unchanged", (_kind, responses) => {
  for (const reference of CLOSED) {
    const parts: Fields[] = [
      { type: "input_image", image_url: reference },
      { type: "input_image", file_id: reference },
      { type: "input_file", file_url: reference },
    ];
    for (const part of parts) {
      const body = { input: [{ role: "user", content: [part] }] };
      expect(() => responses.buildRequest(call(body), target)).toThrow(refused(/^input\[0\]\.content\[0\]\.\w+$/));
      const output = { type: "function_call_output", call_id: "c", output: [part] };
      expect(() => responses.buildRequest(call({ input: [output] }), target)).toThrow(refused(/^input\[0\]\.output\[0\]\.\w+$/));
    }
    const drawing = { input: "x", tools: [{ type: "image_generation", input_image_mask: { image_url: reference } }] };
    expect(() => responses.buildRequest(call(drawing), target)).toThrow(refused(/^tools\[0\]\.input_image_mask\.image_url$/));
  }
});

test("Google's own contents to count, and what servers of OpenAI's API take beside a chat, name no such objects either", () => {
  const part = { fileData: { mimeType: "image/png", fileUri: "gs://victim/a.png" } };
  for (const kind of ["gemini", "vertex_ai"]) {
    const counted = { ...call({ messages: [] }), contents: [{ parts: [part] }] };
    expect(() => providers.get(kind)?.remoteCount?.buildRequest(counted, target)).toThrow(refused(/^contents\[0\]\.parts\[0\]\.fileData/));
  }
  const image = { type: "image_url", image_url: { url: "gs://victim/a.png" } };
  const embedded = { input: ["x"], dimensions: undefined, body: { messages: [{ role: "user", content: [image] }] } };
  expect(() => providers.get("vllm")?.embeddings?.buildRequest(embedded, target)).toThrow(refused(/^messages/));
  expect(() => providers.get("openai")?.moderations?.buildRequest({ body: { input: [image] } }, target)).toThrow(refused(/^input/));
  expect(() => providers.get("openai")?.images?.buildRequest({ body: { prompt: "x", image: "s3://archive/a.png" } }, target)).toThrow(
    refused(/^image$/),
  );
});

const bytes = "A".repeat(64);
test.each([
  { messages: [{ role: "user", content: "s3://archive/a.png" }] },
  { messages: [{ role: "user", content: [{ type: "text", text: "gs://victim/a.png" }] }] },
  ...["https://a.test/a.png", "HTTP://a.test/a.png", "data:image/png;base64,AAAA", bytes].map((url) => ({
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
  })),
  // Ids in the provider account cannot be guessed; that of Google's Files API is an address.
  { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-abc123", filename: "C:a.pdf" } }] }] },
  {
    messages: [
      { role: "user", content: [{ type: "file", file: { file_id: "https://generativelanguage.googleapis.com/v1beta/files/a" } }] },
    ],
  },
  { messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data: bytes, format: "wav" } }] }] },
  { messages: [{ role: "user", content: [{ type: "document", title: "a: b", source: { type: "text", data: "s3: a protocol" } }] }] },
  { messages: [{ role: "user", content: [{ type: "document", source: { type: "content", content: "s3: a protocol" } }] }] },
  { messages: [{ role: "user", content: [{ type: "search_result", source: "s3://kb/a.pdf", content: [{ type: "text", text: "x" }] }] }] },
  { messages: [{ role: "assistant", content: [{ type: "tool_use", id: "t", name: "read", input: { url: "s3://mine/a.png" } }] }] },
  { input: [{ type: "function_call_output", call_id: "c", output: "s3://mine/a.png" }] },
  { input: [{ type: "input_file", file_id: "file-abc123" }], tools: [{ type: "mcp", server_url: "https://a.test" }] },
  { user: "arn:aws:iam::1:user/a", tools: [{ type: "function", function: { parameters: { properties: { url: { const: "s3://a" } } } } }] },
])("public addresses, content, ids and texts pass: %j", (body) => {
  expect(() => refuseClosedReferences(body)).not.toThrow();
});
