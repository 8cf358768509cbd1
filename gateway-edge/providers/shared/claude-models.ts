import { asFields } from "../json-fields.ts";
import type { Fields } from "../provider.ts";
import type { Turn } from "./chat-turns.ts";

/** What a Claude model takes, wherever it is served. */
export interface ClaudeRules {
  /** `budget`: thinking with a number of tokens; `adaptive`: the model decides, an effort steers it. */
  readonly thinking: "none" | "budget" | "adaptive";
  /** Whether the thinking comes back only when its display is asked for. */
  readonly hidesThinking: boolean;
  /** The efforts it knows, beside low, medium and high. */
  readonly efforts: readonly string[];
  /** What turns thinking down as far as it goes, where leaving it out does not. */
  readonly thinkingOff: Fields;
  /** temperature, top_p and top_k: all of them, one of temperature and top_p, or none. */
  readonly sampling: "all" | "one" | "none";
  /** Whether it has an output format of its own for a JSON schema. */
  readonly nativeSchema: boolean;
  readonly forcedToolChoice: boolean;
}

type Version = readonly [major: number, minor: number];

const plain: ClaudeRules = {
  thinking: "none",
  hidesThinking: false,
  efforts: [],
  thinkingOff: {},
  sampling: "all",
  nativeSchema: false,
  forcedToolChoice: true,
};
const budget: ClaudeRules = { ...plain, thinking: "budget" };
const budgetAndSchema: ClaudeRules = { ...budget, sampling: "one", nativeSchema: true };
const adaptive: ClaudeRules = { ...budgetAndSchema, thinking: "adaptive", efforts: ["max"] };
const current: ClaudeRules = { ...adaptive, hidesThinking: true, efforts: ["xhigh", "max"], sampling: "none" };
const disabled = { thinking: { type: "disabled" } };
const lowEffort = { output_config: { effort: "low" } };

/** By family, newest first: the first row that a model is not older than. From vendors' guides and users' measurements, autumn 2026. */
const FAMILIES: Readonly<Record<string, readonly (readonly [from: Version, rules: ClaudeRules])[]>> = {
  opus: [
    [[5, 5], { ...current, thinkingOff: lowEffort, forcedToolChoice: false }],
    [[5, 0], { ...current, thinkingOff: lowEffort }],
    [[4, 7], current],
    [[4, 6], adaptive],
    [[4, 1], budgetAndSchema],
    [[4, 0], budget],
  ],
  sonnet: [
    [[5, 5], { ...current, thinkingOff: { thinking: { type: "between_tools" } }, forcedToolChoice: false }],
    [[5, 0], { ...current, thinkingOff: disabled }],
    [[4, 6], adaptive],
    [[4, 5], budgetAndSchema],
    [[3, 7], budget],
  ],
  haiku: [
    [[5, 0], { ...current, thinkingOff: disabled }],
    [[4, 5], budgetAndSchema],
  ],
  fable: [
    [[5, 1], { ...current, thinkingOff: lowEffort, forcedToolChoice: false }],
    [[0, 0], { ...current, thinkingOff: lowEffort }],
  ],
};

/** A Claude of a family that is not in the table yet is taken for a new one; what is no Claude gets nothing special. */
export function claudeRules(modelId: string): ClaudeRules {
  const id = modelId.toLowerCase();
  if (!id.includes("claude")) return plain;
  const found = parseName(id);
  if (!found) return /claude-(v?\d|instant)/.test(id) ? plain : current;
  const rows = FAMILIES[found.family];
  if (!rows) return current;
  return rows.find(([from]) => isFrom(found.version, from))?.[1] ?? plain;
}

/** claude-opus-4-8, claude-sonnet-4-5-20250929-v1:0, claude-3-7-sonnet-latest; eight digits are a date, not a version. */
function parseName(id: string): { family: string; version: Version } | undefined {
  const newer = /claude-([a-z]{3,})-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)/.exec(id);
  if (newer && newer[1] !== "instant") return { family: newer[1] ?? "", version: [Number(newer[2]), Number(newer[3] ?? 0)] };
  const older = /claude-(\d)(?:[.-](\d))?-(opus|sonnet|haiku)/.exec(id);
  return older ? { family: older[3] ?? "", version: [Number(older[1]), Number(older[2] ?? 0)] } : undefined;
}

function isFrom(version: Version, from: Version): boolean {
  return version[0] > from[0] || (version[0] === from[0] && version[1] >= from[1]);
}

/** Tokens of thinking for an effort, on models that want a number. */
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1024, low: 1024, medium: 2048, high: 4096, xhigh: 8192, max: 16384 };
const BUDGET_MIN = 1024;
/** The share of the output that may be thought: all of it would leave nothing to say. */
const BUDGET_SHARE = 0.8;

/**
 * How hard to think, in the words of the model: from `thinking` (the caller's own, kept) or from `reasoning_effort`. Empty when
 * nothing was asked for, or when the limit on output leaves no room to think.
 */
export function claudeThinking(body: Fields, { rules, maxOutputTokens, turns, forced }: ThinkingContext): Fields {
  const fields = askedThinking(body, { rules, maxOutputTokens });
  if (asFields(fields["thinking"])["type"] !== "enabled") return fields;
  // With a budget a tool cannot be forced, and a call that waits for its result must have come with its thinking: to go without it is
  // better than to be refused.
  return forced || lacksThinking(turns) ? {} : fields;
}

interface ThinkingContext {
  readonly rules: ClaudeRules;
  readonly maxOutputTokens: number;
  readonly turns: readonly Turn[];
  /** Whether the model has to call a tool. */
  readonly forced: boolean;
}

function lacksThinking(turns: readonly Turn[]): boolean {
  if (!turns.at(-1)?.parts.some(({ type }) => type === "tool-result")) return false;
  return !turns.at(-2)?.parts.some(({ type }) => type === "thinking" || type === "redacted-thinking");
}

function askedThinking(body: Fields, { rules, maxOutputTokens }: Pick<ThinkingContext, "rules" | "maxOutputTokens">): Fields {
  const { thinking, reasoning_effort: effort } = body;
  if (typeof thinking === "object" && thinking !== null) return withinLimit(thinking as Fields, maxOutputTokens);
  if (typeof effort !== "string" || rules.thinking === "none") return {};
  if (effort === "none") return rules.thinkingOff;
  if (rules.thinking === "budget") {
    return withinLimit({ type: "enabled", budget_tokens: BUDGETS[effort] ?? BUDGETS["medium"] }, maxOutputTokens);
  }
  const display = rules.hidesThinking ? { display: "summarized" } : {};
  return { thinking: { type: "adaptive", ...display }, output_config: { effort: adaptiveEffort(effort, rules) } };
}

function withinLimit(thinking: Fields, maxOutputTokens: number): Fields {
  const { budget_tokens: asked } = thinking;
  if (typeof asked !== "number") return { thinking };
  const budgetTokens = Math.min(asked, Math.floor(maxOutputTokens * BUDGET_SHARE));
  return budgetTokens < BUDGET_MIN ? {} : { thinking: { ...thinking, budget_tokens: budgetTokens } };
}

function adaptiveEffort(effort: string, { efforts }: ClaudeRules): string {
  if (effort === "minimal") return "low";
  if (effort === "xhigh" && !efforts.includes(effort)) return "high";
  return effort;
}

/** temperature, top_p and top_k as the model takes them; with thinking they are refused. */
export function claudeSampling(body: Fields, { rules, thinking }: { rules: ClaudeRules; thinking: unknown }) {
  const { type = "disabled" } = asFields(thinking);
  if (rules.sampling === "none" || type !== "disabled") return {};
  const { temperature, top_p, top_k } = body;
  const clamped = typeof temperature === "number" ? Math.min(temperature, 1) : undefined;
  return { temperature: clamped, top_p: rules.sampling === "one" && clamped !== undefined ? undefined : top_p, top_k };
}
