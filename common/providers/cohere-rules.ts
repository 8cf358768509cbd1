/** What differs between Cohere's models. A new model is a new row, never a branch. */
export interface CohereModelRules {
  readonly toolChoice: boolean;
  /** Tokens to think with, by OpenAI's words; none where the model does not think. */
  readonly thinkingBudgets: Readonly<Record<string, number>> | undefined;
}

const BUDGETS = { none: 0, minimal: 512, low: 1024, medium: 2048, high: 4096, xhigh: 8192, max: 16_384 };

/** The first pattern that fits decides; chat models newer than this table are taken for plain ones. */
const CHAT_RULES: readonly (readonly [pattern: RegExp, rules: CohereModelRules])[] = [
  [/^command(-light|-nightly|-r|-r-plus)?(-0[348]-2024)?$/, { toolChoice: false, thinkingBudgets: undefined }],
  [/reasoning|^command-a-plus/, { toolChoice: true, thinkingBudgets: BUDGETS }],
  [/./, { toolChoice: true, thinkingBudgets: undefined }],
];

export function rulesOf(inferenceModelId: string): CohereModelRules {
  const found = CHAT_RULES.find(([pattern]) => pattern.test(inferenceModelId));
  return found?.[1] ?? { toolChoice: true, thinkingBudgets: undefined };
}

/** Only these give vectors of a length that is asked for. */
export function takesDimensions(inferenceModelId: string): boolean {
  return !/^embed-(english|multilingual)-(light-)?v[123]/.test(inferenceModelId);
}
