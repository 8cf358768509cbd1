import { readAnthropicUsage } from "../../upstream/providers/anthropic/answer.ts";
import { anthropic } from "../../upstream/providers/anthropic/provider.ts";
import { cohere } from "../../upstream/providers/cohere/provider.ts";
import { readGeminiUsage } from "../../upstream/providers/gemini/answer.ts";
import { gemini } from "../../upstream/providers/gemini/provider.ts";
import { openai } from "../../upstream/providers/openai/provider.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { asCount, asFields } from "../../upstream/providers/shared/json-fields.ts";
import { type AnswerReader, chatReader, completionsReader, openAiVectors, proxiedReader, vectorReader } from "./answer-readers.ts";

/** An operation of a provider's API whose answers tell what they cost in tokens. */
export interface BilledOperation {
  readonly reader: AnswerReader;
  /** The fields that limit the output, of which the largest counts: servers differ in which one they read. */
  readonly limits: readonly string[];
  /** The field of the request that these fields, and the number of choices, are in; absent: in the request itself. */
  readonly settings?: readonly string[];
  /** Streams report their usage only if `stream_options` asks for it. */
  readonly isAskedForUsage?: true;
  /** The only version of the API in which the path means this; absent: every version. */
  readonly version?: string;
}

/** What the provider does for nothing. */
export type ProxiedOperation = BilledOperation | "free";

const CHAT: BilledOperation = { reader: chatReader(openai), limits: ["max_completion_tokens", "max_tokens"], isAskedForUsage: true };
const GENERATE: BilledOperation = {
  reader: chatReader(gemini, ({ usageMetadata }) => readGeminiUsage(usageMetadata)),
  limits: ["maxOutputTokens", "max_output_tokens"],
  settings: ["generationConfig", "generation_config"],
};
const GEMINI_VECTORS: BilledOperation = { reader: vectorReader(({ usageMetadata }) => readGeminiUsage(usageMetadata)), limits: [] };

/**
 * What clients may call, by the path without its version. Every other path is for the master key: it makes something that is not billed by
 * tokens, answers before its work is done, or hands out secrets that the provider takes without the gateway.
 */
const OPERATIONS: ReadonlyMap<string, ProxiedOperation> = new Map<string, ProxiedOperation>([
  ["chat/completions", CHAT],
  ["fim/completions", CHAT],
  ["completions", { reader: completionsReader(openai), limits: ["max_tokens"], isAskedForUsage: true }],
  ["responses", { reader: proxiedReader(openai, "responses"), limits: ["max_output_tokens"] }],
  ["responses/input_tokens", "free"],
  ["embeddings", { reader: openAiVectors, limits: [] }],
  ["moderations", { reader: openAiVectors, limits: [] }],
  [
    "messages",
    {
      reader: proxiedReader(anthropic, "messages", ({ message }) => readAnthropicUsage(asFields(message)["usage"])),
      limits: ["max_tokens"],
    },
  ],
  ["messages/count_tokens", "free"],
  [":generateContent", GENERATE],
  [":streamGenerateContent", GENERATE],
  [":embedContent", GEMINI_VECTORS],
  [":batchEmbedContents", GEMINI_VECTORS],
  [":countTokens", "free"],
  ["chat", { reader: chatReader(cohere), limits: ["max_tokens"], version: "v2" }],
  ["embed", { reader: vectorReader(({ meta }) => cohereUsage(asFields(meta))), limits: [] }],
]);

/** What providers have before the path of an operation, beside a version. */
const PREFIXES: ReadonlySet<string> = new Set(["openai", "anthropic", "compatibility", "beta"]);

/** What a path names. */
export interface NamedByPath {
  /** Undefined: the body names the model. */
  readonly model: string | undefined;
  /** Undefined: the path is none that can be billed. */
  readonly operation: ProxiedOperation | undefined;
}

/** Reads a path below the provider's address, whose path is `base`. */
export function readPath(pathname: string, base: string): NamedByPath {
  // An address of Azure's may end in the deployment.
  const deployment = base.lastIndexOf("/deployments/");
  const from = deployment < 0 ? base.replace(/(?<!\/)\/+$/, "").length : deployment;
  const steps = pathname.slice(from).split("/").filter(Boolean).map(decoded);
  let version: string | undefined;
  while (steps[0] !== undefined && (PREFIXES.has(steps[0]) || /^v\d/.test(steps[0]))) {
    const prefix = steps.shift();
    if (prefix !== undefined && !PREFIXES.has(prefix)) version = prefix;
  }
  const { model, rest } = divided(steps);
  const operation = OPERATIONS.get(rest);
  const isOther = operation !== "free" && operation?.version !== undefined && operation.version !== version;
  return { model, operation: isOther ? undefined : operation };
}

/** The model, where it is a part of the path, and the rest. */
function divided(steps: readonly string[]): { model: string | undefined; rest: string } {
  const [collection, name = "", ...rest] = steps;
  if (collection === "deployments" || collection === "engines") return { model: name, rest: rest.join("/") };
  const colon = name.lastIndexOf(":");
  if (collection === "models" && rest.length === 0 && colon > 0) return { model: name.slice(0, colon), rest: name.slice(colon) };
  return { model: undefined, rest: steps.join("/") };
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function cohereUsage({ billed_units: billed }: Fields) {
  const promptTokens = asCount(asFields(billed)["input_tokens"]);
  return { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 };
}
