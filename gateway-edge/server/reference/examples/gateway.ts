import type { RequestExample } from "./example.ts";

const messages = [{ role: "user", content: "hello" }];
const metadata = { metadata: { topic: "rivers" } };
const template = { model: "echo", instructions: "Greet {{name}}." };
const ofProvider = { params: { provider: "anthropic", path: "v1/files/file_1m7f9j" } };

/** The gateway API: calls of models, and what it stores for them. */
export const GATEWAY_EXAMPLES: Readonly<Record<string, RequestExample>> = {
  "post /v1/chat/completions": { body: { model: "echo", messages } },
  "post /v1/completions": { body: { model: "echo", prompt: "hello" } },
  "post /v1/embeddings": { body: { model: "text-embedding-3-small", input: "Rivers meander." } },
  "post /v1/moderations": { body: { model: "omni-moderation-latest", input: "Rivers meander." } },
  "post /v1/audio/speech": { body: { model: "tts-1", voice: "alloy", input: "Rivers meander." }, save: "speech.mp3" },
  "post /v1/audio/transcriptions": { body: { model: "whisper-1" }, file: { field: "file", name: "speech.mp3" } },
  "post /v1/audio/translations": { body: { model: "whisper-1" }, file: { field: "file", name: "speech.mp3" } },
  "post /v1/images/generations": { body: { model: "gpt-image-1", prompt: "A river from above", size: "1024x1024" } },
  "post /v1/images/edits": { body: { model: "gpt-image-1", prompt: "Add a bridge" }, file: { field: "image", name: "river.png" } },
  "post /v1/rerank": { body: { model: "rerank-v3.5", query: "long rivers", documents: ["The Nile", "The Alps"], top_n: 1 } },
  "post /v2/rerank": { body: { model: "rerank-v3.5", query: "long rivers", documents: ["The Nile", "The Alps"], top_n: 1 } },
  "post /v1/utils/token_counter": { body: { model: "echo", messages } },
  "get /v1/utils/supported_openai_params": { query: { model: "echo" } },
  "post /v1/utils/transform_request": { body: { call_type: "completion", request_body: { model: "echo", messages } } },
  "post /v1/messages": { body: { model: "echo", max_tokens: 100, messages } },
  "post /v1/messages/count_tokens": { body: { model: "echo", messages } },
  "post /v1/responses": { body: { model: "echo", input: "hello" } },
  "post /v1/responses/input_tokens": { body: { model: "echo", input: "hello" } },
  "post /v1/assistants": { body: { model: "echo", name: "Guide", instructions: "Answer in one sentence." } },
  "post /v1/assistants/:assistant_id": { body: { instructions: "Answer in two sentences." } },
  "post /v1/threads": { body: { messages } },
  "post /v1/threads/:thread_id": { body: metadata },
  "post /v1/threads/:thread_id/messages": { body: { role: "user", content: "hello" } },
  "post /v1/threads/:thread_id/messages/:message_id": { body: metadata },
  "post /v1/threads/runs": { body: { assistant_id: "asst_1m7f9j", thread: { messages } } },
  "post /v1/threads/:thread_id/runs": { body: { assistant_id: "asst_1m7f9j" } },
  "post /v1/threads/:thread_id/runs/:run_id": { body: metadata },
  "post /v1/threads/:thread_id/runs/:run_id/submit_tool_outputs": {
    body: { tool_outputs: [{ tool_call_id: "call_1m7f9j", output: "12 degrees" }] },
  },
  "post /v1/files": { body: { purpose: "batch" }, file: { field: "file", name: "requests.jsonl" } },
  "post /v1/batches": { body: { input_file_id: "file-1m7f9j", endpoint: "/v1/chat/completions", completion_window: "24h" } },
  "get /v1/realtime": { query: { model: "gpt-realtime" } },
  "post /mcp": { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
  "get /:provider/*path": { params: { provider: "anthropic", path: "v1/models" } },
  "post /:provider/*path": {
    params: { provider: "anthropic", path: "v1/messages" },
    body: { model: "claude-sonnet-4-5", max_tokens: 100, messages },
  },
  "put /:provider/*path": ofProvider,
  "patch /:provider/*path": ofProvider,
  "delete /:provider/*path": ofProvider,
  "post /v1/vector_stores": { body: { name: "Manuals", file_ids: ["file-1m7f9j"] } },
  "post /v1/vector_stores/:vector_store_id": { body: { name: "Old manuals" } },
  "post /v1/vector_stores/:vector_store_id/search": { body: { query: "How long is the river?" } },
  "post /v1/vector_stores/:vector_store_id/file_batches": { body: { file_ids: ["file-1m7f9j"] } },
  "post /v1/vector_stores/:vector_store_id/files": { body: { file_id: "file-1m7f9j" } },
  "post /v1/vector_stores/:vector_store_id/files/:file_id": { body: { attributes: { language: "en" } } },
  "post /v1/prompts": { body: { name: "greeting", template } },
  "post /v1/prompts/:prompt_id": { body: { version: "2" } },
  "post /v1/prompts/:prompt_id/versions": { body: { template: { instructions: "Greet {{name}} briefly." }, current: false } },
  "post /v1/conversations": { body: { ...metadata, items: [{ type: "message", role: "user", content: "hello" }] } },
  "post /v1/conversations/:conversation_id": { body: metadata },
  "post /v1/conversations/:conversation_id/items": { body: { items: [{ type: "message", role: "user", content: "hello" }] } },
};
