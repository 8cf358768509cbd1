import { PROVIDER_KINDS } from "../../../common/providers/shared/registry.ts";
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
import type { Provider } from "./provider.ts";
import { withOpenReferences } from "./shared/open-references.ts";
import { tributary } from "./tributary/provider.ts";
import { vertex } from "./vertex/provider.ts";

const own = new Map(
  [anthropic, azure, bedrock, cohere, echo, gemini, mistral, ollama, openai, tributary, vertex].map((provider) => [
    provider.kind,
    provider,
  ]),
);

/** Every provider adapter, by kind and by aliases of kinds. The only list; nothing else in the edge knows a provider's name. */
export const providers: ReadonlyMap<string, Provider> = new Map(
  PROVIDER_KINDS.flatMap((declaration) => {
    const provider = withOpenReferences(own.get(declaration.kind) ?? createCompatibleProvider(declaration));
    return declaration.prefixes.map((name) => [name, provider] as const);
  }),
);
