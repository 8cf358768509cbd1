import { guessKind, kindOfPrefix, type ProviderKindName } from "../../common/model-data/provider-kinds.ts";

/** The provider and model that `litellm_params.model` names. */
export interface NamedProvider {
  kind: ProviderKindName;
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
    const kind = kindOfPrefix(customProvider);
    if (!kind) return `there is no provider "${customProvider}" (custom_llm_provider)`;
    const rest = prefix !== undefined && kindOfPrefix(prefix) === kind ? model.slice(slash + 1) : model;
    return named(kind, customProvider, rest);
  }
  if (prefix === undefined) {
    const kind = guessKind(model);
    return named(kind, kind, model);
  }
  const kind = kindOfPrefix(prefix);
  if (!kind) return `there is no provider "${prefix}" (of "${model}"); custom_llm_provider can name another`;
  const rest = model.slice(slash + 1);
  return rest === "" ? `"${model}" names a provider but no model` : named(kind, prefix, rest);
}

const BEDROCK_ROUTE = /^(converse|converse_like|invoke)\//;
const BEDROCK_REGION = /^([a-z]{2}(?:-gov)?-[a-z]+-\d)\//;

function named(kind: ProviderKindName, litellmName: string, model: string): NamedProvider {
  if (kind !== "bedrock") return { kind, litellmName, inferenceModelId: model };
  const routed = model.replace(BEDROCK_ROUTE, "");
  const region = BEDROCK_REGION.exec(routed)?.[1];
  const inferenceModelId = routed.replace(BEDROCK_REGION, "");
  return { kind, litellmName, inferenceModelId, ...(region !== undefined && { region }) };
}
