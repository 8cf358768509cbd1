import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "./api.ts";

/** The fields of a batch that tests read. */
export interface ShownBatch {
  id: string;
  status: string;
  output_file_id: string | null;
  error_file_id: string | null;
  request_counts: { total: number; completed: number; failed: number };
}

interface BatchClient {
  readonly url: string;
  readonly key: string;
}

/** Writes a gateway configuration with one priced model, `slow`, at an OpenAI-compatible upstream. */
export function writeSlowModel(folder: string, upstreamUrl: string): string {
  const path = join(folder, "config.yaml");
  const params = `{ model: openai/slow, api_base: "${upstreamUrl}", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }`;
  writeFileSync(path, `model_list:\n  - model_name: slow\n    litellm_params: ${params}\n`);
  return path;
}

/** Uploads `count` lines, each a request to `slow` with its number, and starts a batch of them. */
export async function startBatch({ url, key }: BatchClient, count: number): Promise<ShownBatch> {
  const lines = Array.from({ length: count }, (_, index) => {
    const body = { model: "slow", messages: [{ role: "user", content: `line ${index}` }] };
    return JSON.stringify({ custom_id: `id-${index}`, method: "POST", url: "/v1/chat/completions", body });
  });
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob([lines.join("\n")]), "input.jsonl");
  const upload = await fetch(`${url}/v1/files`, { method: "POST", headers: { "x-gw-api-key": key }, body: form });
  const { id } = (await upload.json()) as { id: string };
  const asked = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const created = await call(url, "POST", "/v1/batches", { key, body: asked });
  if (created.status !== 200) throw new Error(`creating a batch failed with ${created.status}: ${created.text}`);
  return created.body;
}

/** Polls until the batch satisfies `condition`; an unavailable edge is retried. */
export async function waitForBatch(
  { url, key }: BatchClient,
  id: string,
  { condition, timeoutMs }: { condition: (batch: ShownBatch) => boolean; timeoutMs: number },
): Promise<ShownBatch> {
  const deadline = performance.now() + timeoutMs;
  let last = "never seen";
  while (performance.now() < deadline) {
    const answer = await call(url, "GET", `/v1/batches/${id}`, { key }).catch(() => undefined);
    if (answer) last = answer.text;
    if (answer?.status === 200 && condition(answer.body)) return answer.body;
    await sleep(50);
  }
  throw new Error(`timed out waiting for the batch: ${last}`);
}

/** The content of each output line by its custom_id; fails on a duplicate. */
export async function outputOf({ url, key }: BatchClient, fileId: string): Promise<Map<string, string>> {
  const { text } = await call(url, "GET", `/v1/files/${fileId}/content`, { key });
  const answers = new Map<string, string>();
  for (const line of text.trimEnd().split("\n")) {
    const { custom_id: id, response } = JSON.parse(line) as {
      custom_id: string;
      response: { body: { choices: { message: { content: string } }[] } };
    };
    if (answers.has(id)) throw new Error(`${id} is in the output twice`);
    answers.set(id, response.body.choices[0]?.message.content ?? "");
  }
  return answers;
}
