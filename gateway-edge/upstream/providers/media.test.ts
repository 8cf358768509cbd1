import type { FormCall, ProviderTarget, UpstreamRequest } from "./provider.ts";
import { readAll } from "./provider-contract-support.ts";
import { providers } from "./registry.ts";
import { readMediaUsage } from "./shared/media-usage.ts";

const target: ProviderTarget = { inferenceModelId: "m-x", baseUrl: "https://upstream.test/base/v1", apiKey: "secret-key", params: {} };

async function* sound() {
  yield Buffer.from("RIFF");
}
const form = (): FormCall => ({
  fields: [
    ["model", "group"],
    ["prompt", "p"],
  ],
  files: [{ field: "file", name: "a.wav", contentType: "audio/wav", size: undefined, content: sound() }],
  laterFields: async () => [["language", "en"]],
});

const offered = [...new Set(providers.values())].flatMap((provider) => {
  const json: Record<string, (() => UpstreamRequest) | undefined> = {
    speech: provider.speech && (() => provider.speech?.buildRequest({ body: { model: "group", input: "x" } }, target) as UpstreamRequest),
    images: provider.images && (() => provider.images?.buildRequest({ body: { model: "group", prompt: "x" } }, target) as UpstreamRequest),
    rerank:
      provider.rerank &&
      (() => provider.rerank?.buildRequest({ query: "q", documents: ["d"], topN: 1, body: { model: "group" } }, target) as UpstreamRequest),
  };
  return Object.entries(json).flatMap(([operation, build]) =>
    build && provider.kind !== "echo" ? [[provider.kind, operation, build] as const] : [],
  );
});

test.each(offered)("%s: %s names our model, and has the key in its headers only", (_kind, _operation, build) => {
  const { url, body, headers } = build();
  expect(`${url} ${String(body)}`).not.toContain("secret-key");
  expect(JSON.stringify(headers)).toContain("secret-key");
  expect(url.includes("deployments/m-x") || (JSON.parse(String(body)) as { model: string }).model === "m-x").toBe(true);
  expect(url.startsWith("https://upstream.test/base/")).toBe(true);
});

const forms = [...new Set(providers.values())].flatMap((provider) =>
  (["transcriptions", "translations", "imageEdits"] as const).flatMap((operation) => {
    const adapter = provider[operation];
    return adapter && provider.kind !== "echo" ? [[provider.kind, operation, adapter] as const] : [];
  }),
);

test.each(forms)("%s: %s sends the file while it comes in, and the fields that come after it", async (_kind, _operation, adapter) => {
  const { body, bodyBytes, headers } = adapter.buildRequest(form(), target);
  const bytes = Buffer.concat(await readAll(body as AsyncIterable<Uint8Array>));
  const read = await new Response(new Uint8Array(bytes), { headers: { "content-type": headers["content-type"] ?? "" } }).formData();
  expect([...read.keys()]).toEqual(["model", "prompt", "file", "language"]);
  expect([read.get("model"), await (read.get("file") as File).text()]).toEqual(["m-x", "RIFF"]);
  expect(bodyBytes).toBeUndefined();
});

test("usage of sound and images: tokens with their kinds, seconds rounded up to milliseconds, or nothing", () => {
  const details = { text_tokens: 4, audio_tokens: 10 };
  expect(readMediaUsage({ usage: { input_tokens: 14, input_token_details: details, output_tokens: 3 } })).toMatchObject({
    promptTokens: 14,
    audioPromptTokens: 10,
    completionTokens: 3,
  });
  expect(readMediaUsage({ usage: { type: "duration", seconds: 1.0001 } })?.amounts).toEqual({ millisecond: { input: 1001, output: 0 } });
  expect(readMediaUsage({ duration: "2.3" })?.amounts).toEqual({ millisecond: { input: 2300, output: 0 } });
  expect(readMediaUsage({ usage: { prompt_audio_seconds: 7, prompt_tokens: 4 } })).toMatchObject({ promptTokens: 4 });
  for (const silent of [undefined, null, "x", {}, { usage: null }, { usage: { seconds: -1 } }, { duration: "long" }]) {
    expect(readMediaUsage(silent)).toBeUndefined();
  }
});

test("a ranking is read in Cohere's words and in Jina's; what is none is refused", () => {
  const read = providers.get("openai_compatible")?.rerank?.readAnswer;
  expect(read?.({ results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 9 } })).toMatchObject({
    results: [{ index: 0, score: 0.5 }],
    usage: { promptTokens: 9 },
  });
  for (const wrong of [undefined, {}, { results: [{}] }, { results: [{ index: 0 }] }]) {
    expect(() => read?.(wrong)).toThrow(expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }));
  }
});

test("a model that always answers in base64 is not asked for it", () => {
  const ask = (inferenceModelId: string, response_format: string) =>
    String(providers.get("openai")?.images?.buildRequest({ body: { prompt: "x", response_format } }, { ...target, inferenceModelId }).body);
  expect(ask("gpt-image-1", "b64_json")).not.toContain("response_format");
  expect(ask("gpt-image-1", "url")).toContain("response_format");
  expect(ask("dall-e-3", "b64_json")).toContain("response_format");
});
