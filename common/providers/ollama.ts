import { LIMITS, PENALTIES, STREAMING, words } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

const CHAT = words(`${LIMITS} ${STREAMING} temperature top_p stop seed tools tool_choice response_format reasoning_effort ${PENALTIES}`);
const EMBEDDINGS = ["dimensions"];

export const ollama = {
  kind: "ollama",
  displayName: "Ollama",
  prefixes: ["ollama", "ollama_chat"],
  environment: { api_key: ["OLLAMA_API_KEY"], api_base: ["OLLAMA_API_BASE"] },
  baseUrl: "http://localhost:11434",
  isLocal: true,
  isFree: true,
  operations: ["chat", "embeddings"],
  params: { chat: () => CHAT, embeddings: () => EMBEDDINGS },
} satisfies ProviderKind;
