import { anthropic } from "./anthropic.ts";
import { azure } from "./azure.ts";
import { bedrock } from "./bedrock.ts";
import { cohere } from "./cohere.ts";
import { echo } from "./echo.ts";
import { gemini } from "./gemini.ts";
import { mistral } from "./mistral.ts";
import { ollama } from "./ollama.ts";
import { openai } from "./openai.ts";
import { createCompatibleProvider } from "./openai-compatible-rows.ts";
import { COMPATIBLE_ROWS } from "./openai-compatible-table.ts";
import type { Provider } from "./provider.ts";
import { tributary } from "./tributary.ts";
import { vertex } from "./vertex.ts";

const own = [anthropic, azure, bedrock, cohere, echo, gemini, mistral, ollama, openai, tributary, vertex];

/** Every provider adapter, by kind and by the other names of kinds. The only list; nothing else in the edge knows a provider's name. */
export const providers: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  ...own.map((provider) => [provider.kind, provider] as const),
  ...COMPATIBLE_ROWS.flatMap((row) => {
    const provider = createCompatibleProvider(row);
    return [row.kind, ...row.aliases].map((name) => [name, provider] as const);
  }),
]);
