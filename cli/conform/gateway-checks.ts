import { valueAt } from "../output/values.ts";
import type { Check, CheckAnswer, CheckState, ResponseShape } from "./check.ts";

const gateway = (check: Omit<Check, "document" | "auth"> & { auth?: Check["auth"] }): Check => ({
  document: "gateway",
  auth: "key",
  ...check,
  // Names in braces are replaced by values from earlier checks.
  url: check.url ?? ((state) => filled(check.path, state)),
});

/** The same check under / and under /v1. */
const twice = (check: Parameters<typeof gateway>[0]): Check[] =>
  ["", "/v1"].map((prefix) => gateway({ ...check, path: prefix + check.path }));

/** Also under the two path families that contain the model name. */
const fourTimes = (check: Parameters<typeof gateway>[0]): Check[] => [
  ...twice(check),
  ...["/engines/{model}", "/openai/deployments/{model}"].map((prefix) => gateway({ ...check, path: prefix + check.path })),
];

const messages = [{ role: "user", content: "conformance" }];
const chat = ({ model }: CheckState) => ({ model, messages });
const chatShape: ResponseShape = {
  id: "string",
  object: "=chat.completion",
  "choices.0.message.role": "=assistant",
  "choices.0.message.content": "string",
  "choices.0.finish_reason": "string",
  "usage.total_tokens": "integer",
};
const refusal: ResponseShape = { "error.message": "string", "error.type": "string" };

const models: readonly Check[] = [
  ...twice({ method: "GET", path: "/models", shape: { object: "=list", data: "array", "data.0.id": "string" } }),
  ...twice({ method: "GET", path: "/models/{model_id}", shape: { id: "string", object: "=model" } }),
  ...twice({
    method: "GET",
    path: "/model/info",
    shape: {
      "data.0.model_name": "string",
      "data.0.litellm_params.model": "string",
      "data.0.model_info.id": "string",
      "data.0.model_info.db_model": "boolean",
    },
  }),
  gateway({
    method: "GET",
    path: "/model_group/info",
    shape: {
      "data.0.model_group": "string",
      "data.0.providers": "array",
      "data.0.supports_vision": "boolean",
      "data.0.supported_openai_params": "array",
    },
  }),
];

const calls: readonly Check[] = [
  ...fourTimes({
    method: "POST",
    path: "/chat/completions",
    body: chat,
    shape: chatShape,
    inspect: ({ headers }) => (headers.get("x-gw-model-id") ? undefined : "the x-gw-model-id header is missing"),
  }),
  gateway({
    method: "POST",
    path: "/v1/chat/completions",
    variant: "streamed",
    body: (state) => ({ ...chat(state), stream: true }),
    inspect: wellFormedStream,
  }),
  ...fourTimes({
    method: "POST",
    path: "/completions",
    body: ({ model }) => ({ model, prompt: "conformance", max_tokens: 4 }),
    shape: { object: "=text_completion", "choices.0.text": "string" },
  }),
  ...fourTimes({
    method: "POST",
    path: "/embeddings",
    body: ({ model }) => ({ model, input: ["conformance"] }),
    shape: { object: "=list", "data.0.embedding": "array", "usage.prompt_tokens": "integer" },
  }),
  ...twice({
    method: "POST",
    path: "/moderations",
    body: ({ model }) => ({ model, input: "conformance" }),
    shape: { "results.0.flagged": "boolean" },
  }),
  ...twice({
    method: "POST",
    path: "/audio/speech",
    body: ({ model }) => ({ model, input: "conformance", voice: "alloy" }),
    inspect: ({ headers, text }) =>
      text.length > 0 && /^audio\//.test(headers.get("content-type") ?? "") ? undefined : "the response is not audio",
  }),
  ...twice({ method: "POST", path: "/audio/transcriptions", body: recording, shape: { text: "string" } }),
];

const assistants: readonly Check[] = twiceInOrder([
  {
    method: "POST",
    path: "/assistants",
    body: ({ model }) => ({ model, name: "conformance" }),
    shape: { id: "string", object: "=assistant" },
    save: saveId("assistantId"),
  },
  { method: "GET", path: "/assistants", shape: { object: "=list", data: "array" } },
  { method: "POST", path: "/threads", body: () => ({}), shape: { id: "string", object: "=thread" }, save: saveId("threadId") },
  { method: "GET", path: "/threads/{thread_id}", shape: { id: "string", object: "=thread" } },
  { method: "POST", path: "/threads/{thread_id}/messages", body: () => messages[0], shape: { id: "string", object: "=thread.message" } },
  { method: "GET", path: "/threads/{thread_id}/messages", shape: { object: "=list", "data.0.id": "string" } },
  {
    method: "POST",
    path: "/threads/{thread_id}/runs",
    body: ({ assistantId }) => ({ assistant_id: assistantId }),
    shape: { id: "string", object: "=thread.run", status: "string" },
  },
  { method: "DELETE", path: "/assistants/{assistant_id}", shape: { id: "string", deleted: "boolean" } },
]);

const utilities: readonly Check[] = [
  gateway({
    method: "POST",
    path: "/utils/token_counter",
    body: ({ model }) => ({ model, prompt: "conformance" }),
    shape: { total_tokens: "integer" },
  }),
  gateway({
    method: "GET",
    path: "/utils/supported_openai_params",
    url: ({ model }) => `/utils/supported_openai_params?model=${encodeURIComponent(model)}`,
    shape: { supported_openai_params: "array" },
  }),
  gateway({ method: "POST", path: "/utils/transform_request", body: (state) => ({ call_type: "completion", request_body: chat(state) }) }),
];

const refusals: readonly Check[] = [
  gateway({ method: "POST", path: "/v1/chat/completions", variant: "no key", auth: "none", body: chat, status: [401], shape: refusal }),
  gateway({
    method: "POST",
    path: "/v1/chat/completions",
    variant: "unknown model",
    body: () => ({ model: "no-such-model", messages }),
    status: [404],
    shape: refusal,
  }),
  gateway({
    method: "POST",
    path: "/v1/chat/completions",
    variant: "no messages",
    body: ({ model }) => ({ model }),
    status: [422],
    shape: { detail: "array" },
  }),
  gateway({
    method: "GET",
    path: "/v1/models/{model_id}",
    variant: "unknown model",
    url: () => "/v1/models/no-such-model",
    status: [404],
    shape: refusal,
  }),
];

export const gatewayChecks: readonly Check[] = [...models, ...calls, ...assistants, ...utilities, ...refusals];

export const hostedChecks: readonly Check[] = [
  {
    document: "hosted",
    method: "POST",
    path: "/chat/completions",
    variant: "x-gw-api-key",
    auth: "key",
    body: chat,
    shape: chatShape,
  },
];

export const strictHostedChecks: readonly Check[] = [
  ...hostedChecks,
  {
    document: "hosted",
    method: "POST",
    path: "/chat/completions",
    variant: "Bearer is refused",
    auth: "bearer key",
    body: chat,
    status: [401],
    shape: refusal,
  },
];

export const pageChecks: readonly Check[] = ["/ui", "/fallback/login", "/ui/model_hub_table"].map((path) => ({
  document: "pages",
  method: "GET",
  path,
  auth: "none",
  inspect: ({ headers }) => (/^text\/html/.test(headers.get("content-type") ?? "") ? undefined : "the response is not an HTML page"),
}));

function twiceInOrder(checks: readonly Parameters<typeof gateway>[0][]): Check[] {
  return ["", "/v1"].flatMap((prefix) => checks.map((check) => gateway({ ...check, path: prefix + check.path })));
}

function saveId(field: "assistantId" | "threadId") {
  return (state: CheckState, body: unknown): void => {
    state[field] = String(valueAt(body, "id"));
  };
}

function filled(path: string, { model, assistantId, threadId }: CheckState): string {
  const values: Readonly<Record<string, string | undefined>> = { model, model_id: model, assistant_id: assistantId, thread_id: threadId };
  return path.replace(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(values[name] ?? "missing"));
}

function wellFormedStream({ headers, text }: CheckAnswer): string | undefined {
  if (!/^text\/event-stream/.test(headers.get("content-type") ?? "")) return "the response is not an event stream";
  return text.trimEnd().endsWith("data: [DONE]") ? undefined : "the stream does not end with [DONE]";
}

/** A short silence as a WAV file. */
function recording({ model }: CheckState): FormData {
  const samples = 1600;
  const bytes = Buffer.alloc(44 + samples * 2);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  for (const [offset, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, samples * 2],
  ] as const)
    bytes.writeUInt32LE(value, offset);
  for (const [offset, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    bytes.writeUInt16LE(value, offset);
  bytes.write("data", 36, "latin1");
  const form = new FormData();
  form.append("model", model);
  form.append("file", new Blob([bytes], { type: "audio/wav" }), "silence.wav");
  return form;
}
