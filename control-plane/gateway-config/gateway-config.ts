import type { ConfiguredPrice } from "../../common/model-data/configured-price.ts";
import type { Capability, Mode } from "../../common/model-data/model-families.ts";
import type { UpstreamTls } from "../domain/upstream-tls.ts";

/** A deployment of the configuration file. */
export interface ConfiguredDeployment {
  id: string;
  modelName: string;
  providerKind: string;
  /** The provider's name of the model; `*` stands for the requested name. */
  inferenceModelId: string;
  baseUrl?: string;
  apiKey?: string;
  tls?: UpstreamTls;
  /** litellm_params without model, api_key and api_base, and always with `custom_llm_provider`, LiteLLM's name. May contain secrets. */
  params: Readonly<Record<string, unknown>>;
  info: Readonly<Record<string, unknown>>;
  type: Mode;
  description: string;
  contextWindow?: number;
  maxOutputTokens?: number;
  price?: ConfiguredPrice;
  capabilities: readonly Capability[];
  /** When a deployment with this id was first read. */
  createdAt: number;
}

/** The settings that have an effect, under LiteLLM's names, without secrets. */
export interface GatewaySettings {
  router_settings: Readonly<Record<string, unknown>>;
  litellm_settings: Readonly<Record<string, unknown>>;
  general_settings: Readonly<Record<string, unknown>>;
  /** Supported entries, unchanged. */
  guardrails?: readonly Readonly<Record<string, unknown>>[];
}

/** A parsed and checked configuration. */
export interface GatewayConfig {
  /** The file, what it includes, and the files of secrets and certificates that it names: a change of any of them triggers a reload. */
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
