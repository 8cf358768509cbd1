import type { ProviderTarget } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { azure } from "./provider.ts";

const target: ProviderTarget = {
  inferenceModelId: "our deployment",
  baseUrl: "https://our-resource.openai.azure.com/",
  apiKey: "secret-key-of-ours",
  params: {},
};

providerContract("azure", azure, { target, nullable: ["content"] });

const request = (changes: Partial<ProviderTarget>) =>
  azure.chat?.buildRequest(
    { body: { messages: [{ role: "user", content: "Hi" }] }, stream: false, maxOutputTokens: 9 },
    { ...target, ...changes },
  );

test("both surfaces of Azure have their addresses", () => {
  const classic = "https://our-resource.openai.azure.com/openai/deployments/our%20deployment/chat/completions";
  expect(request({})?.url).toBe(`${classic}?api-version=2024-10-21`);
  expect(request({ params: { api_version: "2025-01-01-preview" } })?.url).toBe(`${classic}?api-version=2025-01-01-preview`);
  const newer = "https://our-resource.openai.azure.com/openai/v1/chat/completions";
  expect(request({ params: { api_version: "v1" } })?.url).toBe(newer);
  expect(request({ params: { api_version: "preview" } })?.url).toBe(`${newer}?api-version=preview`);
  expect(request({ baseUrl: "https://our-resource.openai.azure.com/openai/v1/" })?.url).toBe(newer);
  expect(request({ baseUrl: "https://proxy.test/openai/deployments/x" })?.url).toBe(
    "https://proxy.test/openai/deployments/x/chat/completions?api-version=2024-10-21",
  );
});

test("a key or a token of Entra, never both", () => {
  expect(request({})?.headers).toEqual({ "api-key": "secret-key-of-ours", "content-type": "application/json" });
  expect(request({ params: { azure_ad_token: "token" } })?.headers).toEqual({
    authorization: "Bearer token",
    "content-type": "application/json",
  });
});

test("base_model tells a reasoning model behind any name; without an address there is no call", () => {
  expect(JSON.parse(String(request({ params: { base_model: "o3-mini" } })?.body))).toMatchObject({ max_completion_tokens: 9 });
  expect(() => request({ baseUrl: undefined })).toThrow(expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }));
});

test("a realtime session is opened at the address that the version of the API has", () => {
  const at = (baseUrl: string, version?: string) =>
    azure.realtime?.locate({
      inferenceModelId: "my voice",
      baseUrl,
      apiKey: "k",
      params: version === undefined ? {} : { api_version: version },
    });
  const versioned = "https://r.openai.azure.com/openai/v1/realtime?model=my%20voice";
  expect(at("https://r.openai.azure.com/")).toEqual({ url: versioned, headers: { "api-key": "k" } });
  expect(at("https://r.openai.azure.com/openai/v1", "v1")?.url).toBe(versioned);
  expect(at("https://r.openai.azure.com/openai/deployments/other", "2025-04-01-preview")?.url).toBe(
    "https://r.openai.azure.com/openai/realtime?api-version=2025-04-01-preview&deployment=my%20voice",
  );
});
