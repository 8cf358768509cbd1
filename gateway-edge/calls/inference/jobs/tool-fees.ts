import type { FeeAmount, FeeCounts } from "../../../../common/fees.ts";
import type { Amounts, Fields, ReportedUsage, StreamPart } from "../../../upstream/providers/provider.ts";
import { asFields, asList, asText } from "../../../upstream/providers/shared/json-fields.ts";

/** The uses of a tool that are reserved for where the caller sets no limit. */
const USES_USUAL = 10;

interface ToolFee {
  readonly tools: RegExp;
  readonly fee: FeeAmount;
  /** Absent: the caller's limit, or the usual number. */
  readonly most?: number;
}

/** Tools that a provider runs and bills beside the tokens, by their type, for Anthropic's and OpenAI's APIs. */
const TOOL_FEES: readonly ToolFee[] = [
  { tools: /^web_search_preview/, fee: "webSearchPreview" },
  { tools: /^web_search(_\d|$)/, fee: "search" },
  { tools: /^file_search$/, fee: "fileSearch" },
  { tools: /^(code_interpreter$|code_execution_\d)/, fee: "codeSession", most: 1 },
  { tools: /^image_generation$/, fee: "generatedImage", most: 4 },
];

/** Anthropic bills no code execution for requests that offer one of these, which run code themselves. */
const FREE_CODE = /^web_(search|fetch)_(202[6-9]|20[3-9])/;

/** The most that the tools of a request can cause of each fee; undefined: none. */
export function toolFeesOf({ tools, max_tool_calls: limit }: Fields): FeeCounts | undefined {
  if (tools === undefined) return undefined;
  let fees: Partial<Record<FeeAmount, number>> | undefined;
  const all = asList(tools).map(asFields);
  const isCodeFree = all.some(({ type }) => FREE_CODE.test(String(type)));
  if (isCodeFree) fees = { codeSession: 0 };
  for (const tool of all) {
    const type = asText(tool["type"]);
    const found = type === undefined || type === "function" ? undefined : feeOf(tool, isCodeFree);
    if (!found) continue;
    fees ??= {};
    const most = found.most ?? countOf(tool["max_uses"]) ?? countOf(limit) ?? USES_USUAL;
    fees[found.fee] = (fees[found.fee] ?? 0) + most;
  }
  return fees;
}

function feeOf({ type, environment }: Fields, isCodeFree: boolean): ToolFee | undefined {
  // A shell in a container of the provider's is billed like its code interpreter.
  if (type === "shell")
    return /^container/.test(String(asFields(environment)["type"])) ? { tools: /./, fee: "codeSession", most: 1 } : undefined;
  if (isCodeFree && /^code_execution_/.test(String(type))) return undefined;
  return TOOL_FEES.find(({ tools }) => tools.test(String(type)));
}

function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : undefined;
}

/** Text units of a guardrail that are reserved for: a unit is 1,000 characters, counted by every policy. */
export const GUARDRAIL_UNITS_USUAL = 40;

/** Tools, and fields of chat bodies by which a provider does more: searches of xAI and OpenRouter, Bedrock's guardrails. */
export function chatFeesOf(body: Fields): FeeCounts | undefined {
  const fees = toolFeesOf(body);
  const { search_parameters: live, plugins } = body;
  const guarded = body["guardrailConfig"] === undefined ? fees : { ...fees, guardrailUnit: GUARDRAIL_UNITS_USUAL };
  const searches = (live === undefined ? 0 : liveSources(asFields(live))) + (isWebPlugin(plugins) ? 1 : 0);
  return searches === 0 ? guarded : { ...guarded, search: (fees?.search ?? 0) + searches };
}

/** xAI bills by the source. */
const SOURCES_USUAL = 20;

function liveSources({ mode, max_search_results: most }: Fields): number {
  return mode === "off" ? 0 : (countOf(most) ?? SOURCES_USUAL);
}

function isWebPlugin(plugins: unknown): boolean {
  return plugins !== undefined && asList(plugins).some((plugin) => asFields(plugin)["id"] === "web");
}

/** Whether the request offers code execution that costs nothing. */
function hasFreeCode(fees: FeeCounts | undefined): boolean {
  return fees?.codeSession === 0;
}

/** A report without code sessions that the provider does not bill: whether it does shows in the request only. */
export function billedUsage(usage: ReportedUsage | undefined, fees: FeeCounts | undefined): ReportedUsage | undefined {
  if (usage?.amounts?.codeSession === undefined || !hasFreeCode(fees)) return usage;
  return { ...usage, amounts: withoutCode(usage.amounts) };
}

/** The same for a stream: its parts as they are, unless a code session in their usage is free. */
export function billedParts(parts: AsyncIterable<StreamPart>, fees: FeeCounts | undefined): AsyncIterable<StreamPart> {
  return hasFreeCode(fees) ? withBilledUsage(parts, fees) : parts;
}

async function* withBilledUsage(parts: AsyncIterable<StreamPart>, fees: FeeCounts | undefined): AsyncGenerator<StreamPart> {
  for await (const part of parts) {
    if (part.type === "usage") yield { ...part, usage: billedUsage(part.usage, fees) ?? part.usage };
    else if (part.type === "other-delta" && part.fees) yield { ...part, fees: withoutCode(part.fees) };
    else yield part;
  }
}

function withoutCode({ codeSession: _free, ...amounts }: Amounts): Amounts {
  return amounts;
}
