import type { ReportedUsage } from "../providers/provider.ts";

/** Tokens in disjoint classes: each token is in exactly one, and they add up to the provider's total. */
export interface Usage {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  /** `estimated`: the provider never said, we counted. */
  readonly source: "provider" | "estimated";
}

export const NO_USAGE: Usage = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0, source: "estimated" };

/** A provider's report taken apart. A part larger than its whole is cut to it, so that the sum stays the provider's total. */
export function disjointUsage(reported: ReportedUsage): Usage {
  const cachedInput = Math.min(reported.cachedTokens, reported.promptTokens);
  const cacheWrite = Math.min(reported.cacheWriteTokens, reported.promptTokens - cachedInput);
  const reasoning = Math.min(reported.reasoningTokens, reported.completionTokens);
  return {
    input: reported.promptTokens - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    output: reported.completionTokens - reasoning,
    reasoning,
    source: "provider",
  };
}

export function totalTokens(usage: Usage): number {
  return usage.input + usage.cachedInput + usage.cacheWrite + usage.output + usage.reasoning;
}
