import { anthropic } from "./anthropic/provider.ts";
import { azure } from "./azure/provider.ts";
import { bedrock } from "./bedrock/provider.ts";
import { cohere } from "./cohere/provider.ts";
import { echo } from "./echo/provider.ts";
import { gemini } from "./gemini/provider.ts";
import { mistral } from "./mistral/provider.ts";
import { ollama } from "./ollama/provider.ts";
import { openai } from "./openai/provider.ts";
import { createCompatibleProvider } from "./openai-compatible/provider.ts";
import { COMPATIBLE_ROWS } from "./openai-compatible/table.ts";
import type { Provider } from "./provider.ts";
import { tributary } from "./tributary/provider.ts";
import { vertex } from "./vertex/provider.ts";

const own = [anthropic, azure, bedrock, cohere, echo, gemini, mistral, ollama, openai, tributary, vertex];

/** Every provider adapter, by kind and by aliases of kinds. The only list; nothing else in the edge knows a provider's name. */
export const providers: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  ...own.map((provider) => [provider.kind, provider] as const),
  ...COMPATIBLE_ROWS.flatMap((row) => {
    const provider = createCompatibleProvider(row);
    return [row.kind, ...row.aliases].map((name) => [name, provider] as const);
  }),
]);
