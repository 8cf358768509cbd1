/** LiteLLM's names: capability `vision` is its `supports_vision`. */
export type Capability =
  | "streaming"
  | "function_calling"
  | "parallel_function_calling"
  | "tool_choice"
  | "vision"
  | "response_schema"
  | "reasoning"
  | "prompt_caching"
  | "system_messages"
  | "pdf_input"
  | "audio_input"
  | "audio_output"
  | "web_search";

export type Mode = "chat" | "completion" | "embedding" | "image" | "audio_speech" | "audio_transcription" | "moderation" | "rerank";

export interface ModelFamily {
  readonly mode: Mode;
  readonly capabilities: readonly Capability[];
  readonly maxOutputTokens?: number;
}

const CHAT: readonly Capability[] = ["streaming", "system_messages"];
const TOOLS: readonly Capability[] = [...CHAT, "function_calling", "tool_choice"];
const OPENAI: readonly Capability[] = [...TOOLS, "parallel_function_calling", "response_schema", "vision", "prompt_caching"];
const CLAUDE: readonly Capability[] = [...TOOLS, "parallel_function_calling", "vision", "prompt_caching", "pdf_input", "response_schema"];
const GEMINI: readonly Capability[] = [...OPENAI, "pdf_input", "audio_input"];

const other = (mode: Mode): ModelFamily => ({ mode, capabilities: [] });
const chat = (capabilities: readonly Capability[], maxOutputTokens?: number): ModelFamily => ({
  mode: "chat",
  capabilities,
  ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
});

/**
 * What models can do and how much they may write, by family: no price package of npm says it (docs/decisions/0007), and a family rule
 * also holds for next month's model. The first pattern that fits counts; `model_info` of the configuration wins over it.
 */
const FAMILIES: readonly (readonly [RegExp, ModelFamily])[] = [
  [/embed|(^|\/)bge-|(^|\/)e5-|voyage-/, other("embedding")],
  [/rerank/, other("rerank")],
  [/moderation/, other("moderation")],
  [/whisper|transcribe/, other("audio_transcription")],
  [/(^|[/-])tts|text-to-speech/, other("audio_speech")],
  [/dall-e|gpt-image|imagen|stable-diffusion|flux|image-generation/, other("image")],
  [/davinci-002|babbage-002|turbo-instruct/, other("completion")],
  [/gpt-4o.*audio|gpt-audio/, chat([...OPENAI.filter((name) => name !== "vision"), "audio_input", "audio_output"], 16_384)],
  [/gpt-4o-2024-05-13/, chat(OPENAI, 4096)],
  [/gpt-4o|chatgpt-4o/, chat(OPENAI, 16_384)],
  [/gpt-4\.1/, chat(OPENAI, 32_768)],
  [/gpt-4-turbo/, chat([...TOOLS, "parallel_function_calling", "vision"], 4096)],
  [/gpt-4/, chat(TOOLS, 8192)],
  [/gpt-3\.5|gpt-35/, chat([...TOOLS, "parallel_function_calling"], 4096)],
  [/gpt-oss/, chat([...TOOLS, "reasoning", "response_schema"])],
  [/gpt-5(\.\d)?-chat/, chat(OPENAI, 16_384)],
  [/gpt-[5-9]/, chat([...OPENAI, "reasoning", "pdf_input"], 128_000)],
  [/(^|\/)o1-(mini|preview)/, chat([...CHAT, "reasoning"], 32_768)],
  [/(^|\/)o[1-9](-|$)/, chat([...OPENAI, "reasoning"], 100_000)],
  [/claude-(2|instant)/, chat(CHAT, 4096)],
  [/claude-3-(5|\.5)-|claude-3\.5/, chat(CLAUDE, 8192)],
  [/claude-3[-.]7/, chat([...CLAUDE, "reasoning"], 64_000)],
  [/claude-3/, chat(CLAUDE, 4096)],
  [/claude-opus-4([-@](1|0|2025\d+)([-@:]|$)|$)/, chat([...CLAUDE, "reasoning"], 32_000)],
  [/claude/, chat([...CLAUDE, "reasoning"], 64_000)],
  [/gemini-(1|2\.0|pro)/, chat(GEMINI, 8192)],
  [/gemini/, chat([...GEMINI, "reasoning"], 65_536)],
  [/pixtral/, chat([...TOOLS, "vision", "response_schema"])],
  [/magistral/, chat([...TOOLS, "reasoning"])],
  [/mistral|ministral|mixtral|codestral|devstral/, chat([...TOOLS, "response_schema"])],
  [/command-a/, chat([...TOOLS, "response_schema"], 8192)],
  [/command/, chat(TOOLS, 4096)],
  [/deepseek-(reasoner|r1)/i, chat([...CHAT, "reasoning", "prompt_caching"], 65_536)],
  [/deepseek/i, chat([...TOOLS, "prompt_caching"], 8192)],
  [/grok.*vision/, chat([...TOOLS, "vision"])],
  [/grok-[3-9]/, chat([...TOOLS, "response_schema", "reasoning", "prompt_caching"])],
  [/sonar.*(reasoning|research)/, chat([...CHAT, "web_search", "reasoning"])],
  [/sonar/, chat([...CHAT, "web_search"])],
  [/llama|qwen|gemma|nova|kimi|glm/i, chat(TOOLS)],
];

const UNKNOWN: ModelFamily = chat(CHAT);

export function familyOf(model: string): ModelFamily {
  return FAMILIES.find(([pattern]) => pattern.test(model))?.[1] ?? UNKNOWN;
}
