import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "./dialect.ts";

/** Endpoints of OpenAI and Cohere besides text: audio, images, rerank. */
export interface MediaAsked {
  readonly operation: string;
  readonly model: string;
  /** Form fields as received, repeated names as lists; files by name, type and size. */
  readonly body: Json;
}

const PATHS = /\/(audio\/speech|audio\/transcriptions|audio\/translations|images\/generations|images\/edits|rerank)$/;

/** Undefined if the path is not a media endpoint. */
export async function readMedia(path: string, headers: IncomingHttpHeaders, bytes: Buffer): Promise<MediaAsked | undefined> {
  const operation = PATHS.exec(path)?.[1];
  if (operation === undefined) return undefined;
  const type = headers["content-type"] ?? "";
  const body = type.startsWith("multipart/") ? await readForm(bytes, type) : (JSON.parse(bytes.toString()) as Json);
  return { operation, model: String(body.model), body };
}

async function readForm(bytes: Buffer, type: string): Promise<Json> {
  const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
  const shown = (value: string | File) => (typeof value === "string" ? value : { name: value.name, type: value.type, size: value.size });
  const lists = [...new Set(form.keys())].map((name) => [name, form.getAll(name).map(shown)] as const);
  return Object.fromEntries(lists.map(([name, values]) => [name, values.length > 1 || name.endsWith("[]") ? values : values[0]]));
}

/** The audio for every text, in two chunks with a pause between them. */
export const SOUND = [Buffer.alloc(3000, 1), Buffer.alloc(2000, 2)] as const;
const PAUSE_MS = 400;
export const PICTURE = Buffer.from("a picture").toString("base64");
const TOKENS = {
  type: "tokens",
  input_tokens: 14,
  input_token_details: { text_tokens: 4, audio_tokens: 10 },
  output_tokens: 3,
  total_tokens: 17,
};

export async function playMedia({ operation, body }: MediaAsked, response: ServerResponse): Promise<void> {
  if (operation === "audio/speech") return await speak(body, response);
  if (operation === "rerank") return json(response, ranking(body));
  if (operation.startsWith("images/")) return images(operation, body, response);
  return transcribe(operation, body, response);
}

const TYPES: Readonly<Record<string, string>> = { mp3: "audio/mpeg", wav: "audio/wav", pcm: "audio/pcm" };

async function speak({ response_format: format = "mp3" }: Json, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": TYPES[format] ?? "application/octet-stream" });
  response.write(SOUND[0]);
  await sleep(PAUSE_MS);
  response.end(SOUND[1]);
}

function transcribe(operation: string, body: Json, response: ServerResponse): void {
  const text = operation.endsWith("translations") ? "in English" : "hello there";
  if (body.stream === "true") {
    const deltas = ["hello", " there"].map((delta) => ({ type: "transcript.text.delta", delta }));
    events(response, [...deltas, { type: "transcript.text.done", text, usage: TOKENS }]);
  } else if (body.response_format === "text" || body.response_format === "srt" || body.response_format === "vtt") {
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(`${body.response_format}: ${text}\n`);
  } else if (body.response_format === "verbose_json") {
    const words = [{ word: "hello", start: 0, end: 0.5 }];
    const segments = [
      { id: 0, seek: 0, start: 0, end: 1.5, text, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 },
    ];
    json(response, { task: "transcribe", language: "english", duration: 1.5, text, words, segments });
  } else {
    json(response, { text, usage: body.file?.name?.endsWith(".mp3") ? { type: "duration", seconds: 2 } : TOKENS });
  }
}

function images(operation: string, body: Json, response: ServerResponse): void {
  const usage = { input_tokens: 5, input_tokens_details: { text_tokens: 5, image_tokens: 0 }, output_tokens: 100, total_tokens: 105 };
  const kind = operation === "images/edits" ? "image_edit" : "image_generation";
  if (body.stream === true || body.stream === "true") {
    const partial = Array.from({ length: Number(body.partial_images ?? 0) }, (_, index) => ({
      type: `${kind}.partial_image`,
      b64_json: PICTURE,
      partial_image_index: index,
    }));
    events(response, [...partial, { type: `${kind}.completed`, b64_json: PICTURE, usage }]);
    return;
  }
  const image = body.response_format === "url" ? { url: "https://pictures.test/1.png" } : { b64_json: PICTURE };
  json(response, { created: 1, data: Array.from({ length: Number(body.n ?? 1) }, () => image), usage });
}

/** Later documents have higher scores. */
function ranking({ documents, top_n: topN = documents.length }: Json): unknown {
  const results = documents.map((_: unknown, index: number) => ({ index, relevance_score: (index + 1) / 10 }));
  return { id: "up", results: results.reverse().slice(0, topN), meta: { billed_units: { search_units: 1 } } };
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function events(response: ServerResponse, list: readonly (Json & { type: string })[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}
