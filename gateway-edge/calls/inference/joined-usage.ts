import type { Amounts, MeasuredUnit, ReportedUsage } from "../../upstream/providers/provider.ts";

/** The usage of several requests as one. It is known where every request reports it; otherwise all of it is estimated. */
export function joinedUsage(reports: readonly (ReportedUsage | undefined)[]): ReportedUsage | undefined {
  const known = reports.filter((usage) => usage !== undefined);
  return known.length === reports.length && known.length > 0 ? known.reduce(sumOf) : undefined;
}

const OPTIONAL = [
  "cacheWriteHourTokens",
  "audioPromptTokens",
  "audioCompletionTokens",
  "imagePromptTokens",
  "imageCompletionTokens",
] as const;

function sumOf(left: ReportedUsage, right: ReportedUsage): ReportedUsage {
  const amounts = sumOfAmounts(left.amounts, right.amounts);
  const optional = OPTIONAL.map((name) => [name, (left[name] ?? 0) + (right[name] ?? 0)] as const);
  const samplings = Math.max(left.samplings ?? 1, right.samplings ?? 1);
  return {
    ...sumOfTokens(left, right),
    ...Object.fromEntries(optional.filter(([, tokens]) => tokens > 0)),
    ...((left.lacksPrompt || right.lacksPrompt) && { lacksPrompt: true as const }),
    ...(samplings > 1 && { samplings }),
    ...(amounts && { amounts }),
  };
}

/** The counts that every report has. */
export function sumOfTokens(left: ReportedUsage, right: ReportedUsage): ReportedUsage {
  return {
    promptTokens: left.promptTokens + right.promptTokens,
    cachedTokens: left.cachedTokens + right.cachedTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
    completionTokens: left.completionTokens + right.completionTokens,
    reasoningTokens: left.reasoningTokens + right.reasoningTokens,
  };
}

function sumOfAmounts(left: Amounts | undefined, right: Amounts | undefined): Amounts | undefined {
  if (!left || !right) return left ?? right;
  const units = [...new Set([...Object.keys(left), ...Object.keys(right)])] as MeasuredUnit[];
  const sumIn = (unit: MeasuredUnit, side: "input" | "output") => (left[unit]?.[side] ?? 0) + (right[unit]?.[side] ?? 0);
  return Object.fromEntries(units.map((unit) => [unit, { input: sumIn(unit, "input"), output: sumIn(unit, "output") }]));
}
