import { CHAT_FAMILIES, EMBEDDING_FAMILIES, OPENAI_USUAL } from "./openai.ts";
import { words } from "./shared/params.ts";
import type { ModelFamily, ProviderKind } from "./shared/provider-kind.ts";

/** The name of an Azure deployment need not be a model's: then Azure itself refuses what it does not take. */
const CHAT: readonly ModelFamily[] = [
  ...CHAT_FAMILIES.slice(0, -1),
  { models: /.*/, params: words(OPENAI_USUAL, "stop prediction modalities reasoning_effort verbosity") },
];

export const azure = {
  kind: "azure",
  displayName: "Azure OpenAI",
  prefixes: ["azure", "azure_text"],
  environment: { api_key: ["AZURE_API_KEY"], api_base: ["AZURE_API_BASE"], api_version: ["AZURE_API_VERSION"] },
  needsBaseUrl: true,
  priceLists: ["azure"],
  operations: ["chat", "completions", "embeddings", "speech", "transcriptions", "translations", "images", "imageEdits", "realtime"],
  params: { chat: CHAT, embeddings: EMBEDDING_FAMILIES },
  passThrough: { keyHeader: "api-key" },
} satisfies ProviderKind;
