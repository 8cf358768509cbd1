import { gemini } from "./gemini.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

/** Gemini in a Google Cloud project. */
export const vertexAi = {
  kind: "vertex_ai",
  displayName: "Google Vertex AI",
  prefixes: ["vertex_ai", "vertex_ai_beta"],
  environment: {
    vertex_project: ["VERTEXAI_PROJECT", "VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT"],
    vertex_location: ["VERTEXAI_LOCATION", "VERTEX_LOCATION"],
    vertex_credentials: ["GOOGLE_APPLICATION_CREDENTIALS"],
  },
  noClientParams: "their requests have a token of one project",
  priceLists: ["google", "anthropic"],
  operations: ["chat", "embeddings"],
  params: gemini.params,
} satisfies ProviderKind;
