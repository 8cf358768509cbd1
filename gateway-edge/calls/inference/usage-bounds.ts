import type { PriceUnit } from "../../../common/pricing.ts";
import { disjointUsage, NO_USAGE, type Usage } from "../../credit/pricing/usage.ts";
import type { Fields, ReportedUsage } from "../../upstream/providers/provider.ts";
import type { Estimate, Job } from "./job.ts";

/** What a call allows its provider to use. */
export interface Allowed {
  readonly job: Job<unknown>;
  /** As counted for the reservation: a token for every three bytes. */
  readonly inputTokens: number;
  /** For each choice, as the provider was sent it. */
  readonly maxOutputTokens: number;
}

/** How far reported output may exceed the limit: providers stop a few tokens late. */
const OUTPUT_TOLERANCE = 1.01;
const OUTPUT_TOLERANCE_TOKENS = 16;
/** No vocabulary has more tokens than bytes; the reservation counts three bytes as one. */
const BYTES_PER_ROUGH_TOKEN = 3;
/**
 * Hidden prompts, templates around messages and tools, and what a provider adds: in 756 recorded answers of real providers the largest
 * surplus was 33,000 tokens.
 */
const HIDDEN_TOKENS = 100_000;
/** Several times the longest context there is: for requests whose size does not tell what a provider reads. */
const READ_TOKENS_MAX = 10_000_000;

/** A report of a provider that cannot be true. */
export interface Disbelieved {
  readonly reason: string;
  readonly reported: ReportedUsage;
}

/** Why a provider's report cannot be true; undefined: it can be. */
export function whyNotBelieved(reported: ReportedUsage, allowed: Allowed): string | undefined {
  const { promptTokens, completionTokens } = reported;
  if (!isCounts(reported)) return "a count is negative, fractional, not a number or absurdly large";
  if (completionTokens > outputBound(allowed) * (reported.samplings ?? 1)) return "more output than max_tokens";
  // The request is inspected only when its size does not explain the report.
  const isExplained = promptTokens <= allowed.inputTokens * BYTES_PER_ROUGH_TOKEN + HIDDEN_TOKENS;
  return isExplained || readsMore(allowed.job) ? undefined : "more input than the request has";
}

/** The provider's report where there is one, the gateway's count for the rest; the source is that of the billed unit. */
export function measured(known: { estimate: Estimate | undefined; reported: ReportedUsage | undefined; unit: PriceUnit }): Usage {
  const { estimate, reported, unit } = known;
  const beside = reported?.amounts;
  const tokens: Usage = saysTokens(reported)
    ? disjointUsage(reported)
    : { ...NO_USAGE, amounts: beside, input: estimate?.input ?? 0, output: estimate?.output ?? 0 };
  const isSaid = unit === "token" || unit === "call" ? saysTokens(reported) : reported?.amounts?.[unit] !== undefined;
  const image = reported?.image ?? estimate?.image;
  return {
    ...tokens,
    amounts: { ...estimate?.amounts, ...tokens.amounts },
    ...(image !== undefined && { image }),
    source: isSaid ? "provider" : "estimated",
  };
}

/** Whether the provider reported tokens. */
export function saysTokens(reported: ReportedUsage | undefined): reported is ReportedUsage {
  return reported !== undefined && reported.promptTokens + reported.completionTokens > 0;
}

/** Whether every number of a report is a valid count. */
export function isCounts(reported: ReportedUsage): boolean {
  const { promptTokens, cachedTokens, cacheWriteTokens, completionTokens, reasoningTokens } = reported;
  const { audioPromptTokens = 0, audioCompletionTokens = 0, cacheWriteHourTokens = 0, amounts = {} } = reported;
  const { imagePromptTokens = 0, imageCompletionTokens = 0 } = reported;
  return (
    isCount(promptTokens) &&
    isCount(cachedTokens) &&
    isCount(cacheWriteTokens) &&
    isCount(completionTokens) &&
    isCount(reasoningTokens) &&
    isCount(audioPromptTokens) &&
    isCount(audioCompletionTokens) &&
    isCount(cacheWriteHourTokens) &&
    isCount(imagePromptTokens) &&
    isCount(imageCompletionTokens) &&
    Object.values(amounts).every(({ input, output }) => isAmount(input) && isAmount(output))
  );
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= READ_TOKENS_MAX;
}

/** Other units, such as milliseconds, have no such limit. */
function isAmount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** Jobs in other units than tokens (images, audio) have no token limit to compare a report with. */
function outputBound({ job, maxOutputTokens }: Allowed): number {
  if (job.estimate) return READ_TOKENS_MAX;
  return maxOutputTokens * job.choiceCount * OUTPUT_TOLERANCE + OUTPUT_TOLERANCE_TOKENS;
}

/** Fields that let a provider read more than was sent: searches, stored or remembered content. */
const READING_FIELDS = new Set([
  "web_search_options",
  "search_parameters",
  "plugins",
  "previous_response_id",
  "conversation",
  "prompt",
  "documents",
  "container",
  "mcp_servers",
]);
const PLAIN_TOOLS = new Set([undefined, "function", "custom"]);
const PLAIN_PARTS = new Set([undefined, "text", "input_text", "output_text", "refusal", "tool_use", "tool_result", "thinking", "message"]);

/** Whether a request can make its provider read more than its own text: media, files, or tools that the provider runs itself. */
function readsMore(job: Job<unknown>): boolean {
  const request = job.traits?.().request;
  // A request that cannot be inspected may contain anything.
  if (!request || job.estimate) return true;
  const tools = request["tools"];
  if (Object.keys(request).some((name) => READING_FIELDS.has(name) && !(name === "prompt" && typeof request[name] === "string")))
    return true;
  if (Array.isArray(tools) && tools.some((tool: Fields | null) => !PLAIN_TOOLS.has(tool?.["type"] as string | undefined))) return true;
  return hasMedia(request["messages"]) || hasMedia(request["input"]);
}

function hasMedia(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasMedia);
  if (typeof value !== "object" || value === null) return false;
  const { type, content } = value as Fields;
  return !PLAIN_PARTS.has(type as string | undefined) || hasMedia(content);
}
