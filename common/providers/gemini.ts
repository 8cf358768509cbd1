import { LIMITS, STREAMING, words } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

const CHAT = words(
  `frequency_penalty logprobs ${LIMITS} modalities n presence_penalty response_format safety_settings seed stop ${STREAMING}`,
  "temperature tool_choice tools top_k top_logprobs top_p",
);
const EMBEDDINGS = words("dimensions encoding_format input_type task_type");

/** Gemini by API key (Google AI Studio). */
export const gemini = {
  kind: "gemini",
  displayName: "Google AI Studio (Gemini)",
  prefixes: ["gemini"],
  bareNames: /^gemini-/,
  environment: { api_key: ["GEMINI_API_KEY", "GOOGLE_API_KEY"] },
  baseUrl: "https://generativelanguage.googleapis.com",
  priceLists: ["google"],
  operations: ["chat", "embeddings"],
  params: {
    chat: (model) => (geminiRules(model).thinking === undefined ? CHAT : [...CHAT, "reasoning_effort"]),
    embeddings: () => EMBEDDINGS,
  },
  passThrough: { version: "v1beta", keyHeader: "x-goog-api-key" },
} satisfies ProviderKind;

/** What differs between Google's models. A new model is a new row, never a branch. */
export interface GeminiModelRules {
  /** How much to think: a number of tokens (2.5), a word (3), or not at all. */
  readonly thinking: { readonly by: "budget" | "level"; readonly efforts: Readonly<Record<string, number | string>> } | undefined;
  /** Answers 400 when a function call of its own comes back without its signature. */
  readonly needsSignature: boolean;
  /** Without a system role: its text goes to the first turn. */
  readonly systemInFirstTurn: boolean;
}

// Budgets of OpenAI's words as the field uses them; -1 would let the model choose, without a bound that can be reserved for.
const BUDGETS = { low: 1024, medium: 2048, high: 4096, xhigh: 8192, max: 16_384 };
const PRO_BUDGETS = { none: 128, minimal: 128, ...BUDGETS };
const FLASH_BUDGETS = { none: 0, minimal: 1, ...BUDGETS };
const FLASH_LITE_BUDGETS = { none: 0, minimal: 512, ...BUDGETS };
// A level that a model does not have is a 400, so each row goes to the nearest it has.
const LEVELS = { none: "low", minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high", max: "high" };
const TWO_LEVELS = { ...LEVELS, medium: "high" };
const FOUR_LEVELS = { ...LEVELS, none: "minimal", minimal: "minimal" };

const plain: GeminiModelRules = { thinking: undefined, needsSignature: false, systemInFirstTurn: false };
const budget = (efforts: Record<string, number>): GeminiModelRules => ({ ...plain, thinking: { by: "budget", efforts } });
const level = (efforts: Record<string, string>): GeminiModelRules => ({
  ...plain,
  thinking: { by: "level", efforts },
  needsSignature: true,
});

/** The first pattern that fits decides. */
const RULES: readonly (readonly [pattern: RegExp, rules: GeminiModelRules])[] = [
  [/^gemma/, { ...plain, systemInFirstTurn: true }],
  [/^gemini-(1|2\.0)/, plain],
  [/^gemini-2\.5-flash-image/, plain],
  [/^gemini-2\.5-flash-lite/, budget(FLASH_LITE_BUDGETS)],
  [/^gemini-2\.5-flash/, budget(FLASH_BUDGETS)],
  [/^gemini-2\.5/, budget(PRO_BUDGETS)],
  [/^gemini-3-pro/, level(TWO_LEVELS)],
  [/^gemini-3-flash|^gemini-3\.1-flash/, level(FOUR_LEVELS)],
  // Newer than this table: the levels that every model since 3.1 has.
  [/^gemini-([3-9]|\d\d)/, level(LEVELS)],
];

/** By the provider's name of the model, with or without a path before it. */
export function geminiRules(inferenceModelId: string): GeminiModelRules {
  const name = inferenceModelId.slice(inferenceModelId.lastIndexOf("/") + 1);
  return RULES.find(([pattern]) => pattern.test(name))?.[1] ?? plain;
}
