import type { ProviderKind } from "../../common/providers/shared/provider-kind.ts";
import { guessKind, kindOfPrefix } from "../../common/providers/shared/registry.ts";

/** The provider and model that `litellm_params.model` names. */
export interface NamedProvider {
  declaration: ProviderKind;
  /** LiteLLM's name of the provider: `cohere_chat` and `cohere` are one kind with two interfaces. */
  litellmName: string;
  inferenceModelId: string;
  /** A region that was part of the model's name. */
  region?: string;
}

/** Resolves `litellm_params.model` to a provider and its model name. A returned string is a problem. */
export function providerOf(model: string, customProvider?: string): NamedProvider | string {
  const slash = model.indexOf("/");
  const prefix = slash > 0 ? model.slice(0, slash) : undefined;
  if (customProvider !== undefined) {
    const declaration = kindOfPrefix(customProvider);
    if (!declaration) return `there is no provider "${customProvider}" (custom_llm_provider)`;
    const rest = prefix !== undefined && kindOfPrefix(prefix) === declaration ? model.slice(slash + 1) : model;
    return named(declaration, customProvider, rest);
  }
  if (prefix === undefined) {
    const declaration = guessKind(model);
    return named(declaration, declaration.kind, model);
  }
  const declaration = kindOfPrefix(prefix);
  if (!declaration) return `there is no provider "${prefix}" (of "${model}"); custom_llm_provider can name another`;
  const rest = model.slice(slash + 1);
  return rest === "" ? `"${model}" names a provider but no model` : named(declaration, prefix, rest);
}

/** What LiteLLM's names have before the model's, to choose among a provider's interfaces. The adapters choose by the model or the operation. */
const ROUTES: Readonly<Partial<Record<string, RegExp>>> = {
  azure: /^(o_series|gpt5_series|responses)\//,
  bedrock: /^(converse|converse_like|invoke)\//,
  openai: /^responses\//,
};
const BEDROCK_REGION = /^([a-z]{2}(?:-gov)?-[a-z]+-\d)\//;

function named(declaration: ProviderKind, litellmName: string, model: string): NamedProvider {
  const route = ROUTES[declaration.kind];
  const routed = route ? model.replace(route, "") : model;
  if (declaration.kind !== "bedrock") return { declaration, litellmName, inferenceModelId: routed };
  const region = BEDROCK_REGION.exec(routed)?.[1];
  const inferenceModelId = routed.replace(BEDROCK_REGION, "");
  return { declaration, litellmName, inferenceModelId, ...(region !== undefined && { region }) };
}
