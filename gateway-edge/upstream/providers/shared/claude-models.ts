import type { ClaudeRules } from "../../../../common/providers/shared/claude-rules.ts";
import type { Fields } from "../provider.ts";
import type { Turn } from "./chat-turns.ts";
import { asFields } from "./json-fields.ts";

/** Thinking tokens for an effort, for models that take a number. */
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1024, low: 1024, medium: 2048, high: 4096, xhigh: 8192, max: 16384 };
const BUDGET_MIN = 1024;
/** The share of the output for thinking: all of it would leave no room for the answer. */
const BUDGET_SHARE = 0.8;

/**
 * The thinking fields of the model: from the caller's own `thinking`, or from `reasoning_effort`. Empty without either, or when the output
 * limit leaves no room to think.
 */
export function claudeThinking(body: Fields, { rules, maxOutputTokens, turns, forced }: ThinkingContext): Fields {
  const fields = askedThinking(body, { rules, maxOutputTokens });
  if (asFields(fields["thinking"])["type"] !== "enabled") return fields;
  // With a thinking budget a tool cannot be forced, and a pending tool call must come with its thinking: the request goes without thinking,
  // because otherwise it would be refused.
  return forced || lacksThinking(turns) ? {} : fields;
}

interface ThinkingContext {
  readonly rules: ClaudeRules;
  readonly maxOutputTokens: number;
  readonly turns: readonly Turn[];
  /** Whether the model must call a tool. */
  readonly forced: boolean;
}

function lacksThinking(turns: readonly Turn[]): boolean {
  if (!turns.at(-1)?.parts.some(({ type }) => type === "tool-result")) return false;
  return !turns.at(-2)?.parts.some(({ type }) => type === "thinking" || type === "redacted-thinking");
}

function askedThinking(body: Fields, { rules, maxOutputTokens }: Pick<ThinkingContext, "rules" | "maxOutputTokens">): Fields {
  const { thinking, reasoning_effort: effort } = body;
  if (typeof thinking === "object" && thinking !== null) return thinkingWithin(thinking as Fields, maxOutputTokens);
  if (typeof effort !== "string" || rules.thinking === "none") return {};
  if (effort === "none") return rules.thinkingOff;
  if (rules.thinking === "budget") {
    return thinkingWithin({ type: "enabled", budget_tokens: BUDGETS[effort] ?? BUDGETS["medium"] }, maxOutputTokens);
  }
  const display = rules.hidesThinking ? { display: "summarized" } : {};
  return { thinking: { type: "adaptive", ...display }, output_config: { effort: adaptiveEffort(effort, rules) } };
}

/** Thinking whose budget leaves room for the answer; none if there is no room to think. */
export function thinkingWithin(thinking: Fields, maxOutputTokens: number): Fields {
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
