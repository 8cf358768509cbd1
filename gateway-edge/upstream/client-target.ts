import type { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ClientParams } from "./client-params.ts";
import { DEFAULTABLE } from "./default-params.ts";
import type { Fields, ProviderTarget } from "./providers/provider.ts";
import { targetOf } from "./target.ts";

/** The operator's parameters that say how a model is asked. All others (credentials, headers, body fields) stay away from clients' addresses. */
const OPEN_PARAMS = [
  ...DEFAULTABLE,
  "base_model",
  "api_version",
  "anthropic_version",
  "anthropic_beta",
  "safety_settings",
  "num_ctx",
  "keep_alive",
];

/** Parameters and headers that belong to the deployment's own key: a client's key stands in for all of them. */
const KEY_PARAMS = ["organization", "project", "azure_ad_token", "auth_token"];
const KEY_HEADERS = ["authorization", "x-api-key", "api-key", "x-goog-api-key", "openai-organization", "openai-project"];

/** The target of a call: the deployment's own, or with what the client gives in place of it. */
export function targetFor(deployment: Deployment, client: ClientParams | undefined): ProviderTarget {
  const own = targetOf(deployment);
  return client ? clientTarget(own, client) : own;
}

function clientTarget(own: ProviderTarget, client: ClientParams): ProviderTarget {
  const { apiBase, apiKey, apiVersion } = client;
  const version = apiVersion === undefined ? {} : { api_version: apiVersion };
  if (apiBase !== undefined) {
    const { inferenceModelId, info, params } = own;
    const open = Object.fromEntries(Object.entries(params).filter(([name]) => OPEN_PARAMS.includes(name)));
    return { inferenceModelId, ...(info && { info }), baseUrl: apiBase, apiKey, params: { ...open, ...version }, isClientAddress: true };
  }
  if (apiKey === undefined) return { ...own, params: { ...own.params, ...version } };
  return { ...own, apiKey, params: { ...withoutKey(own.params), ...version } };
}

function withoutKey(params: Fields): Fields {
  const others = Object.entries(params).filter(([name]) => !KEY_PARAMS.includes(name));
  return Object.fromEntries(others.map(([name, value]) => [name, name === "extra_headers" ? withoutKeyHeaders(value) : value]));
}

function withoutKeyHeaders(headers: unknown): unknown {
  if (typeof headers !== "object" || headers === null) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !KEY_HEADERS.includes(name.toLowerCase())));
}
