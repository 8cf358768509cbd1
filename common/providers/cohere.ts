import { LIMITS, STREAMING, words } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

const CHAT = words(
  `citation_options documents frequency_penalty ${LIMITS} presence_penalty response_format safety_mode seed stop ${STREAMING}`,
  "temperature tools top_k top_p",
);

export const cohere = {
  kind: "cohere",
  displayName: "Cohere",
  prefixes: ["cohere", "cohere_chat"],
  bareNames: /^(command|embed-(english|multilingual)|rerank-)/,
  environment: { api_key: ["COHERE_API_KEY", "CO_API_KEY"] },
  baseUrl: "https://api.cohere.com",
  priceLists: ["cohere"],
  operations: ["chat", "embeddings", "rerank"],
  params: {
    chat: (model) => {
      const { toolChoice, thinkingBudgets } = cohereRules(model);
      return [...CHAT, ...(toolChoice ? ["tool_choice"] : []), ...(thinkingBudgets ? ["reasoning_effort", "thinking"] : [])];
    },
    embeddings: (model) => ["encoding_format", "input_type", "truncate", ...(takesDimensions(model) ? ["dimensions"] : [])],
  },
  passThrough: { version: "v2" },
} satisfies ProviderKind;

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

export function cohereRules(inferenceModelId: string): CohereModelRules {
  const found = CHAT_RULES.find(([pattern]) => pattern.test(inferenceModelId));
  return found?.[1] ?? { toolChoice: true, thinkingBudgets: undefined };
}

/** Only these give vectors of a length that is asked for. */
export function takesDimensions(inferenceModelId: string): boolean {
  return !/^embed-(english|multilingual)-(light-)?v[123]/.test(inferenceModelId);
}
