import { azure as declaration } from "../../../../common/providers/azure.ts";
import { createOpenAiProvider } from "../openai-compatible/create.ts";
import type { ProviderTarget } from "../provider.ts";
import { asText } from "../shared/json-fields.ts";
import { textHeaders, under, unusable } from "../shared/locate-upstream.ts";

/** The oldest version that reports usage in streams and takes structured outputs; `v1` selects the API without versions. */
const API_VERSION = "2024-10-21";

/**
 * Azure OpenAI. The model id is the name of the deployment; where it does not name the model, `base_model` does. `api_version: "v1"` or a
 * base that ends in /openai/v1 uses the new API, anything else the addresses of deployments.
 */
export const azure = createOpenAiProvider({
  declaration,
  takesTokens: true,
  // Only the API without versions has it.
  speaksResponses: (target) => target.baseUrl !== undefined && addressOf(target, "").includes("/openai/v1/"),
  locate: (target, path) => ({ url: addressOf(target, path), headers: headersOf(target) }),
  locateRealtime: (target) => ({ url: realtimeAddress(target), headers: headersOf(target) }),
});

function addressOf(target: ProviderTarget, path: string): string {
  const resource = resourceOf(target);
  const version = asText(target.params["api_version"]) ?? API_VERSION;
  if (resource.endsWith("/openai/v1")) return under(resource, path);
  const query = `?api-version=${encodeURIComponent(version)}`;
  if (/\/openai\/deployments\/[^/]+$/.test(resource)) return `${under(resource, path)}${query}`;
  if (["v1", "latest", "preview"].includes(version)) {
    return `${under(resource, `openai/v1/${path}`)}${version === "preview" ? "?api-version=preview" : ""}`;
  }
  const deployment = encodeURIComponent(target.inferenceModelId);
  return `${under(resource, `openai/deployments/${deployment}/${path}`)}${query}`;
}

/** With a dated `api_version` the address of the preview, otherwise that of the API without versions. */
function realtimeAddress(target: ProviderTarget): string {
  const resource = resourceOf(target).replace(/\/openai\/(?:v1|deployments\/[^/]+)$/, "");
  const version = asText(target.params["api_version"]) ?? "v1";
  const model = encodeURIComponent(target.inferenceModelId);
  if (!/^\d/.test(version)) return `${under(resource, "openai/v1/realtime")}?model=${model}`;
  return `${under(resource, "openai/realtime")}?api-version=${encodeURIComponent(version)}&deployment=${model}`;
}

function resourceOf({ baseUrl }: ProviderTarget): string {
  if (baseUrl === undefined) throw unusable("azure", "a deployment needs api_base, the address of its resource");
  return baseUrl.replace(/(?<!\/)\/+$/, "");
}

function headersOf(target: ProviderTarget): Record<string, string> {
  const token = asText(target.params["azure_ad_token"]);
  const credential = token === undefined ? { "api-key": target.apiKey } : { authorization: `Bearer ${token}` };
  return textHeaders({ ...credential, ...(target.params["extra_headers"] as object | undefined) });
}
