import type { UpstreamRequest, UpstreamResponse } from "../provider.ts";
import { messageText, splitTokens } from "./tokens.ts";
import { embed, moderate } from "./vectors.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * The built-in provider's audio, images, rerank, embeddings and moderations: deterministic, with true usage, in the formats of OpenAI and
 * Cohere.
 */
export async function answerMedia(operation: string, request: UpstreamRequest): Promise<UpstreamResponse | undefined> {
  switch (operation) {
    case "audio/speech":
      return speech(await jsonOf(request));
    case "audio/transcriptions":
    case "audio/translations":
      return transcript(operation.endsWith("translations"), await readUpload(request));
    case "images/generations":
      return images(await jsonOf(request), "image_generation");
    case "images/edits": {
      const { fields } = await readUpload(request);
      return images({ ...fields, n: Number(fields["n"] ?? 1), stream: fields["stream"] === "true" }, "image_edit");
    }
    case "rerank":
      return ranking(await jsonOf(request));
    case "embeddings":
      return embeddings(await jsonOf(request));
    case "moderations":
      return verdicts(await jsonOf(request));
    default:
      return undefined;
  }
}

const tokenCount = (text: unknown): number => splitTokens(String(text ?? "")).length;

async function jsonOf(request: UpstreamRequest): Promise<Json> {
  return JSON.parse(String(request.body)) as Json;
}

/** A tenth of a second of audio for each token, each with its own tone. */
function speech(body: Json): UpstreamResponse {
  const tokens = splitTokens(String(body["input"]));
  const usage = { input_tokens: tokens.length, output_tokens: tokens.length * 2, total_tokens: tokens.length * 3 };
  if (body["stream_format"] !== "sse") return respond("audio/wav", [wavHead(tokens.length), ...tokens.map(tone)]);
  const delta = (audio: Buffer) => event({ type: "speech.audio.delta", audio: audio.toString("base64") });
  const done = event({ type: "speech.audio.done", usage });
  return respond("text/event-stream", [...[wavHead(tokens.length), ...tokens.map(tone)].map(delta), done]);
}

const SAMPLES_PER_SECOND = 8000;
const SAMPLES_PER_TOKEN = 800;

function wavHead(toneCount: number): Buffer {
  const dataBytes = toneCount * SAMPLES_PER_TOKEN * 2;
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + dataBytes, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  head.writeUInt32LE(SAMPLES_PER_SECOND * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(dataBytes, 40);
  return head;
}

function tone(token: string): Buffer {
  const hertz = 200 + (Buffer.from(token).reduce((sum, byte) => sum + byte, 0) % 400);
  const samples = Buffer.alloc(SAMPLES_PER_TOKEN * 2);
  for (let index = 0; index < SAMPLES_PER_TOKEN; index++) {
    samples.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * hertz * index) / SAMPLES_PER_SECOND)), index * 2);
  }
  return samples;
}

interface EchoUpload {
  readonly fields: Readonly<Record<string, string>>;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
}

/** As echo's own adapter serializes it. */
async function readUpload(request: UpstreamRequest): Promise<EchoUpload> {
  const pieces: Buffer[] = [];
  for await (const piece of request.body as AsyncIterable<Uint8Array>) pieces.push(Buffer.from(piece));
  return JSON.parse(Buffer.concat(pieces).toString("utf8")) as EchoUpload;
}

const BYTES_PER_AUDIO_TOKEN = 1024;

function transcript(isTranslation: boolean, { fields, files }: EchoUpload): UpstreamResponse {
  const { name, bytes } = files[0] ?? { name: "", bytes: 0 };
  const text = `${name} has ${bytes} bytes.`;
  const [prompt, audio, output] = [tokenCount(fields["prompt"]), Math.ceil(bytes / BYTES_PER_AUDIO_TOKEN), tokenCount(text)];
  const usage = {
    type: "tokens",
    input_tokens: prompt + audio,
    input_token_details: { text_tokens: prompt, audio_tokens: audio },
    output_tokens: output,
    total_tokens: prompt + audio + output,
  };
  if (!isTranslation && fields["stream"] === "true") {
    const deltas = splitTokens(text).map((delta) => event({ type: "transcript.text.delta", delta }));
    return respond("text/event-stream", [...deltas, event({ type: "transcript.text.done", text, usage })]);
  }
  const seconds = bytes / 32_000;
  const task = isTranslation ? "translate" : "transcribe";
  switch (fields["response_format"]) {
    case "text":
      return respond("text/plain", [Buffer.from(`${text}\n`)]);
    case "srt":
      return respond("text/plain", [Buffer.from(`1\n00:00:00,000 --> 00:00:01,000\n${text}\n\n`)]);
    case "vtt":
      return respond("text/plain", [Buffer.from(`WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n${text}\n\n`)]);
    case "verbose_json":
      return json({ task, language: "english", duration: seconds, text, segments: [{ id: 0, start: 0, end: seconds, text }], usage });
    default:
      return json({ text, usage });
  }
}

/** One gray pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const TOKENS_PER_IMAGE = 16;

function images(body: Json, kind: string): UpstreamResponse {
  const count = Number(body["n"] ?? 1);
  const input = tokenCount(body["prompt"]);
  const usage = (made: number) => ({
    input_tokens: input,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
    output_tokens: made * TOKENS_PER_IMAGE,
    total_tokens: input + made * TOKENS_PER_IMAGE,
  });
  if (body["stream"] !== true) {
    return json({ data: Array.from({ length: count }, () => ({ b64_json: PIXEL })), usage: usage(count) });
  }
  const partial = Array.from({ length: Number(body["partial_images"] ?? 0) }, (_, index) =>
    event({ type: `${kind}.partial_image`, b64_json: PIXEL, partial_image_index: index }),
  );
  return respond("text/event-stream", [...partial, event({ type: `${kind}.completed`, b64_json: PIXEL, usage: usage(1) })]);
}

function embeddings(body: Json): UpstreamResponse {
  const { vectors, tokens } = embed(body["input"] as readonly string[], (body["dimensions"] as number | undefined) ?? undefined);
  const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
  return json({ object: "list", data, usage: { prompt_tokens: tokens, total_tokens: tokens } });
}

function verdicts(body: Json): UpstreamResponse {
  const input = body["input"];
  const isParts = Array.isArray(input) && input.some((part) => typeof part !== "string");
  const texts = typeof input === "string" ? [input] : isParts ? [messageText({ content: input })] : (input as readonly string[]);
  return json({ id: "modr-echo", results: moderate(texts) });
}

/** Ranks a document by how many words of the query it has. */
function ranking(body: Json): UpstreamResponse {
  const words = (text: unknown) =>
    new Set(
      String(text)
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu) ?? [],
    );
  const asked = words(body["query"]);
  const documents = body["documents"] as readonly string[];
  const results = documents.map((document, index) => ({
    index,
    relevance_score: asked.size === 0 ? 0 : words(document).intersection(asked).size / asked.size,
  }));
  const sorted = results.toSorted((left, right) => right.relevance_score - left.relevance_score);
  const tokens = documents.reduce((sum, document) => sum + tokenCount(document), tokenCount(body["query"]));
  const meta = { billed_units: { search_units: 1 }, tokens: { input_tokens: tokens, output_tokens: 0 } };
  return json({ results: sorted.slice(0, Number(body["top_n"] ?? sorted.length)), meta });
}

function event(fields: Json): Buffer {
  return Buffer.from(`event: ${String(fields["type"])}\ndata: ${JSON.stringify(fields)}\n\n`);
}

function json(body: unknown): UpstreamResponse {
  return respond("application/json", [Buffer.from(JSON.stringify(body))]);
}

function respond(contentType: string, pieces: readonly Buffer[]): UpstreamResponse {
  return { status: 200, headers: { "content-type": contentType }, body: each(pieces) };
}

async function* each(pieces: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
