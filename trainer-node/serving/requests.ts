import { z } from "zod";
import { TrainerError } from "../errors.ts";

const INPUTS_MAX = 2048;
const WRITTEN_BYTES_MAX = 65_536;
/** OpenAI's own defaults. */
const COMPLETION_TOKENS = 16;
const CHAT_TOKENS = 4096;

const stop = z
  .union([z.string(), z.array(z.string()).max(4)])
  .nullish()
  .transform((value) => (typeof value === "string" ? [value] : (value ?? [])).filter((text) => text !== ""));
const limit = z.int().min(1).max(WRITTEN_BYTES_MAX).nullish();

const sampling = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish(),
  n: z.int().min(1).max(16).nullish(),
  stop,
  max_tokens: limit,
  max_completion_tokens: limit,
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
};

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const content = z
  .union([z.string(), z.array(textPart)], "must be a string or parts of text")
  .nullish()
  .transform((value) => (typeof value === "string" ? value : (value ?? []).map(({ text }) => text).join("\n")));

const chatRequest = z.looseObject({
  model: z.string().default(""),
  messages: z.array(z.looseObject({ role: z.string(), content })).min(1),
  ...sampling,
});

const completionsRequest = z.looseObject({
  model: z.string().default(""),
  prompt: z
    .union([z.string(), z.array(z.string()).min(1).max(1, "must have one string")], "must be a string")
    .transform((value) => [value].flat()[0] ?? ""),
  ...sampling,
});

const texts = z
  .union([z.string(), z.array(z.string()).min(1).max(INPUTS_MAX)], "must be a string or a list of strings")
  .transform((value) => [value].flat());

/** The body of /embeddings. */
export const embeddingsRequest = z.looseObject({
  model: z.string().default(""),
  input: texts,
  encoding_format: z.enum(["float", "base64"]).nullish(),
});

/** The body of /moderations. */
export const moderationsRequest = z.looseObject({
  model: z.string().default(""),
  input: z.union([
    texts,
    z
      .array(textPart)
      .min(1)
      .max(64)
      .transform((parts) => [parts.map(({ text }) => text).join("\n")]),
  ]),
});

/** A request for text, from /chat/completions or /completions. */
export interface TextRequest {
  readonly model: string;
  /** The text that a language model continues. */
  readonly prompt: string;
  /** The text that a classifier labels. */
  readonly input: string;
  /** The messages of a chat, and a prompt as one message. */
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly choices: number;
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number | undefined;
  readonly stop: readonly string[];
  readonly bytesMax: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** Reads the body of /chat/completions. */
export function readChat(body: unknown): TextRequest {
  const request = parse(chatRequest, body);
  const { messages } = request;
  const asked = messages.findLast(({ role }) => role === "user") ?? messages.at(-1);
  const prompt = messages.map((message) => message.content).join("\n");
  const plain = messages.map(({ role, content }) => ({ role, content }));
  return { ...textFields(request, CHAT_TOKENS), prompt, input: asked?.content ?? "", messages: plain };
}

/** Reads the body of /completions. */
export function readCompletion(body: unknown): TextRequest {
  const request = parse(completionsRequest, body);
  const { prompt } = request;
  return { ...textFields(request, COMPLETION_TOKENS), prompt, input: prompt, messages: [{ role: "user", content: prompt }] };
}

type SamplingFields = z.output<z.ZodObject<typeof sampling>> & { model: string };

function textFields(request: SamplingFields, bytesDefault: number): Omit<TextRequest, "prompt" | "input" | "messages"> {
  return {
    model: request.model,
    choices: request.n ?? 1,
    temperature: request.temperature ?? 1,
    topP: request.top_p ?? 1,
    seed: request.seed ?? undefined,
    stop: request.stop,
    bytesMax: request.max_completion_tokens ?? request.max_tokens ?? bytesDefault,
    stream: request.stream ?? false,
    includeUsage: request.stream_options?.include_usage ?? false,
  };
}

/** Checks a body and reports its first problem. */
export function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join(".") ?? "";
  throw new TrainerError("VALIDATION_ERROR", `${field === "" ? "the body" : field}: ${issue?.message}`, { details: { field } });
}
