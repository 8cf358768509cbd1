import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** The dialects, each with the upstream's name of a model that its adapter treats as an ordinary one. */
const DIALECTS = {
  oai: { litellm: "openai", model: "", base: "/openai/v1" },
  azu: { litellm: "azure", model: "", base: "/azure" },
  anth: { litellm: "anthropic", model: "claude-3-5-sonnet-20241022--", base: "/anthropic" },
  gem: { litellm: "gemini", model: "gemini-2.5-flash--", base: "/gemini" },
  bed: { litellm: "bedrock", model: "anthropic.claude-3-5-sonnet-20241022-v2:0--", base: "/bedrock" },
  coh: { litellm: "cohere_chat", model: "command-a-03-2025--", base: "/cohere" },
  mis: { litellm: "mistral", model: "mistral-large-latest--", base: "/mistral/v1" },
  oll: { litellm: "ollama_chat", model: "llama3.2--", base: "/ollama" },
  dee: { litellm: "deepseek", model: "deepseek-chat--", base: "/deepseek/v1" },
  // A server of OpenAI's kind that speaks the Responses API, and only that.
  nat: { litellm: "openai", model: "native--", base: "/responses/v1" },
} as const;

export type DialectName = keyof typeof DIALECTS;
export const CHAT_DIALECTS = ["oai", "azu", "anth", "gem", "bed", "coh", "mis", "oll"] as const;

const SCRIPTS_EVERYWHERE = ["pong", "tools", "two-tools", "context-error", "poem", "filtered", "thinking"];
const SCRIPTS_OF: Readonly<Partial<Record<DialectName, readonly string[]>>> = {
  oai: [
    "other",
    "unicode",
    "split-1",
    "split-7",
    "split-tools",
    "long",
    "flood",
    "drip",
    "no-arguments",
    "policy-error",
    "auth-error",
    "bad-request",
    "error-500",
    "error-500-once",
    "status-429",
    "status-429-then-ok",
    "hang",
    "reset",
    "reset-after-3",
    "cut-after-3",
    "error-after-3",
    "first-event-error",
    "slow-first-token",
    "slow-middle",
    "usage-cache",
    "cut-short",
  ],
  azu: ["prompt-filter-first"],
  anth: ["json", "usage-cache", "no-arguments", "unicode", "split-7", "error-after-3", "reset-after-3", "cut-after-3"],
  gem: ["prompt-blocked", "malformed", "unicode", "split-7", "error-after-3", "reset-after-3", "cut-after-3"],
  bed: ["two-blocks", "unicode", "split-7", "no-arguments", "error-after-3", "reset-after-3", "cut-after-3"],
  coh: ["unicode", "split-7", "cut-after-3"],
  mis: ["unicode", "cut-after-3"],
  nat: ["drip", "error-after-3", "cut-after-3", "reset-after-3"],
  oll: ["unicode", "split-7", "error-after-3", "reset-after-3", "cut-after-3"],
};

interface Deployment {
  readonly group: string;
  readonly dialect: DialectName;
  /** The upstream's name of the model. */
  readonly model: string;
  readonly params?: object;
  readonly info?: object;
}

/** The upstream's name behind the group that plays a script in a dialect. */
export function upstreamModel(dialect: DialectName, script = "pong"): string {
  return `${DIALECTS[dialect].model}${script}`;
}

export function groupOf(dialect: DialectName, script = "pong"): string {
  return script === "pong" ? dialect : `${dialect}-${script}`;
}

const ordinary: readonly Deployment[] = (Object.keys(DIALECTS) as DialectName[]).flatMap((dialect) =>
  [...SCRIPTS_EVERYWHERE, ...(SCRIPTS_OF[dialect] ?? [])].map((script) => ({
    group: groupOf(dialect, script),
    dialect,
    model: upstreamModel(dialect, script),
    info: dialect === "nat" ? { supports_responses: true } : {},
  })),
);

/** LiteLLM's list has tokens for nothing beside the price of another unit. */
function pricedBy(price: object): object {
  return { input_cost_per_token: 0, output_cost_per_token: 0, ...price };
}

/** Groups whose name, model or settings are out of the ordinary. */
const special: readonly Deployment[] = [
  { group: "vendor/name", dialect: "oai", model: "pong" },
  { group: "anth-native-json", dialect: "anth", model: "claude-sonnet-4-5--json" },
  { group: "anth-budget", dialect: "anth", model: "claude-3-7-sonnet-20250219--thinking" },
  { group: "anth-adaptive", dialect: "anth", model: "claude-opus-4-6--thinking" },
  { group: "gem-budget", dialect: "gem", model: "gemini-2.5-flash--thinking" },
  { group: "gem-level", dialect: "gem", model: "gemini-3-pro-preview--thinking" },
  { group: "gem-signed", dialect: "gem", model: "gemini-3-pro-preview--tools" },
  { group: "context-guarded", dialect: "oai", model: "guarded--context-error" },
  { group: "policy-guarded", dialect: "oai", model: "guarded--policy-error" },
  { group: "busy-guarded", dialect: "oai", model: "guarded--status-429", params: { num_retries: 0 } },
  { group: "stream-guarded", dialect: "oai", model: "guarded--first-event-error", params: { num_retries: 0 } },
  { group: "hang-2s", dialect: "oai", model: "two-seconds--hang", params: { timeout: 2, num_retries: 0 } },
  { group: "key-refused", dialect: "oai", model: "refused--auth-error" },
  { group: "text-embedding", dialect: "oai", model: "text-embedding-3-small--pong", info: { mode: "embedding" } },
  { group: "gem-embedding", dialect: "gem", model: "gemini-embedding-001--pong", info: { mode: "embedding" } },
  { group: "coh-embedding", dialect: "coh", model: "embed-v4.0--pong", info: { mode: "embedding" } },
  { group: "oll-embedding", dialect: "oll", model: "nomic-embed-text--pong", info: { mode: "embedding" } },
  { group: "moderation", dialect: "oai", model: "omni-moderation--pong", info: { mode: "moderation" } },
  {
    group: "tts",
    dialect: "oai",
    model: "tts-1--pong",
    params: pricedBy({ input_cost_per_character: 0.000015 }),
    info: { mode: "audio_speech" },
  },
  {
    group: "whisper",
    dialect: "oai",
    model: "whisper-1--pong",
    params: pricedBy({ input_cost_per_second: 0.0001 }),
    info: { mode: "audio_transcription" },
  },
  { group: "transcribe", dialect: "oai", model: "gpt-4o-transcribe--pong", info: { mode: "audio_transcription" } },
  { group: "image", dialect: "oai", model: "gpt-image-1--pong", info: { mode: "image_generation" } },
  {
    group: "rerank",
    dialect: "coh",
    model: "rerank-v3.5--pong",
    params: pricedBy({ input_cost_per_query: 0.002 }),
    info: { mode: "rerank" },
  },
  { group: "davinci", dialect: "oai", model: "davinci-002--pong", info: { mode: "completion" } },
  { group: "davinci-poem", dialect: "oai", model: "davinci-002--poem", info: { mode: "completion" } },
];

const FALLBACK = "oai-other";
/** USD per token, as LiteLLM writes prices: 1 and 2 USD per million. */
const PRICES = { input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 };

/** A LiteLLM configuration file whose every deployment goes to the fake upstream. JSON is YAML. */
export function writeGatewayConfig(folder: string, upstreamUrl: string): string {
  const config = {
    model_list: [...ordinary, ...special].map(({ group, dialect, model, params, info }) => ({
      model_name: group,
      litellm_params: {
        model: `${DIALECTS[dialect].litellm}/${model}`,
        api_base: `${upstreamUrl}${DIALECTS[dialect].base}`,
        ...credentials(dialect),
        ...PRICES,
        ...params,
      },
      model_info: { id: deploymentId(group), max_output_tokens: 4096, ...info },
    })),
    router_settings: {
      num_retries: 1,
      timeout: 120,
      fallbacks: [{ "busy-guarded": [FALLBACK] }, { "stream-guarded": [FALLBACK] }],
      context_window_fallbacks: [{ "context-guarded": [FALLBACK] }],
      content_policy_fallbacks: [{ "policy-guarded": [FALLBACK] }],
    },
  };
  const file = join(folder, "config.yaml");
  writeFileSync(file, JSON.stringify(config, undefined, 2));
  return file;
}

export const deploymentId = (group: string): string => `dep-${group}`;
export const UPSTREAM_KEY = "canary-upstream-key-5c1e";

function credentials(dialect: DialectName): object {
  if (dialect !== "bed") return { api_key: UPSTREAM_KEY };
  return { aws_access_key_id: "AKIAFAKE", aws_secret_access_key: "canary-aws-secret", aws_region_name: "us-east-1" };
}
