import type { Capability, Mode } from "../../common/model-data/model-families.ts";
import type { ProviderKindName } from "../../common/model-data/provider-kinds.ts";
import type { Price, PriceUnit } from "../../common/pricing.ts";

export interface ConfiguredPrice extends Price {
  unit: PriceUnit;
  /** Whether the operator wrote it or the public price list has it. */
  source: "config" | "data";
}

/** One way to serve a model, as the configuration file says it. */
export interface ConfiguredDeployment {
  id: string;
  modelName: string;
  providerKind: ProviderKindName;
  /** The provider's own name of the model; `*` stands for whatever the caller asks for. */
  inferenceModelId: string;
  baseUrl?: string;
  apiKey?: string;
  /** litellm_params, but for model, api_key and api_base; `custom_llm_provider` is always in it, as LiteLLM's name. May hold secrets. */
  params: Readonly<Record<string, unknown>>;
  info: Readonly<Record<string, unknown>>;
  type: Mode;
  description: string;
  contextWindow?: number;
  maxOutputTokens?: number;
  price?: ConfiguredPrice;
  capabilities: readonly Capability[];
  /** When it was first seen with this id. */
  createdAt: number;
}

/** The settings that have an effect, under LiteLLM's names, without secrets. */
export interface GatewaySettings {
  router_settings: Readonly<Record<string, unknown>>;
  litellm_settings: Readonly<Record<string, unknown>>;
  general_settings: Readonly<Record<string, unknown>>;
  /** Entries that can be used, as they are written. */
  guardrails?: readonly Readonly<Record<string, unknown>>[];
}

export interface GatewayConfig {
  /** The file and what it includes. */
  files: readonly string[];
  deployments: readonly ConfiguredDeployment[];
  settings: GatewaySettings;
  masterKey?: string;
  warnings: readonly string[];
}

export const NO_GATEWAY_CONFIG: GatewayConfig = {
  files: [],
  deployments: [],
  settings: { router_settings: {}, litellm_settings: {}, general_settings: {} },
  warnings: [],
};
