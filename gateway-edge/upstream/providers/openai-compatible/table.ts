import type { COMPATIBLE_FAMILIES } from "../../../../common/providers/compatible-families.ts";
import type { Fields, Operation } from "../provider.ts";
import type { Quirk } from "./quirks.ts";

/** One server with OpenAI's wire format. A new one is a new row here, and one in the model families. */
export interface CompatibleRow {
  readonly kind: keyof typeof COMPATIBLE_FAMILIES;
  /** Other names of it in configuration files. */
  readonly aliases: readonly string[];
  /** Undefined: a deployment must have its own. */
  readonly baseUrl: string | undefined;
  /** The environment variable of the key, for configurations without one. */
  readonly keyVariable: string | undefined;
  readonly operations: readonly Operation[];
  /** Fields that are added to every chat request. */
  readonly always?: Fields;
  readonly quirks?: readonly Quirk[];
}

export const COMPATIBLE_ROWS: readonly CompatibleRow[] = [
  {
    kind: "groq",
    aliases: [],
    baseUrl: "https://api.groq.com/openai/v1",
    keyVariable: "GROQ_API_KEY",
    operations: ["chat", "speech", "transcriptions", "translations"],
    quirks: ["no-message-names"],
  },
  {
    kind: "deepseek",
    aliases: [],
    baseUrl: "https://api.deepseek.com/v1",
    keyVariable: "DEEPSEEK_API_KEY",
    operations: ["chat"],
    quirks: ["developer-as-system", "effort-as-thinking", "schema-as-instruction"],
  },
  {
    kind: "together",
    aliases: ["together_ai"],
    baseUrl: "https://api.together.xyz/v1",
    keyVariable: "TOGETHERAI_API_KEY",
    operations: ["chat", "completions", "embeddings", "speech", "transcriptions", "translations", "images", "rerank"],
    quirks: ["developer-as-system"],
  },
  {
    kind: "fireworks",
    aliases: ["fireworks_ai"],
    baseUrl: "https://api.fireworks.ai/inference/v1",
    keyVariable: "FIREWORKS_API_KEY",
    operations: ["chat", "completions", "embeddings", "rerank"],
    // By default it silently truncates a prompt that is too long.
    always: { context_length_exceeded_behavior: "error" },
    quirks: ["developer-as-system"],
  },
  {
    kind: "openrouter",
    aliases: [],
    baseUrl: "https://openrouter.ai/api/v1",
    keyVariable: "OPENROUTER_API_KEY",
    operations: ["chat", "completions", "embeddings"],
  },
  {
    kind: "xai",
    aliases: ["x_ai"],
    baseUrl: "https://api.x.ai/v1",
    keyVariable: "XAI_API_KEY",
    operations: ["chat", "images"],
    quirks: ["no-empty-names"],
  },
  {
    kind: "perplexity",
    aliases: [],
    baseUrl: "https://api.perplexity.ai",
    keyVariable: "PERPLEXITYAI_API_KEY",
    operations: ["chat"],
    quirks: ["developer-as-system"],
  },
  {
    kind: "vllm",
    aliases: ["hosted_vllm"],
    baseUrl: undefined,
    keyVariable: "HOSTED_VLLM_API_KEY",
    operations: ["chat", "completions", "embeddings", "transcriptions", "translations", "rerank"],
  },
  {
    kind: "lm_studio",
    aliases: ["lmstudio"],
    baseUrl: "http://localhost:1234/v1",
    keyVariable: "LM_STUDIO_API_KEY",
    operations: ["chat", "completions", "embeddings"],
    quirks: ["developer-as-system"],
  },
  {
    kind: "llamafile",
    aliases: [],
    baseUrl: "http://localhost:8080/v1",
    keyVariable: "LLAMAFILE_API_KEY",
    operations: ["chat", "completions", "embeddings"],
    quirks: ["developer-as-system"],
  },
  {
    kind: "nvidia",
    aliases: ["nvidia_nim"],
    baseUrl: "https://integrate.api.nvidia.com/v1",
    keyVariable: "NVIDIA_NIM_API_KEY",
    operations: ["chat", "completions", "embeddings"],
    quirks: ["developer-as-system"],
  },
  {
    kind: "cerebras",
    aliases: [],
    baseUrl: "https://api.cerebras.ai/v1",
    keyVariable: "CEREBRAS_API_KEY",
    operations: ["chat", "completions"],
    quirks: ["developer-as-system"],
  },
  {
    kind: "openai_compatible",
    aliases: ["openai_like", "custom_openai"],
    baseUrl: undefined,
    keyVariable: "OPENAI_LIKE_API_KEY",
    operations: [
      "chat",
      "completions",
      "embeddings",
      "moderations",
      "speech",
      "transcriptions",
      "translations",
      "images",
      "imageEdits",
      "rerank",
    ],
  },
];
