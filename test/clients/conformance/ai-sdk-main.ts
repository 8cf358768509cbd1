/** The AI SDK against the gateway; in a process of its own, because it comes as ES modules only. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embed, embedMany, generateObject, generateText, jsonSchema, streamText, type ToolSet, tool } from "ai";
import { readSettings, runScriptCases } from "./settings.ts";

const settings = await readSettings();
const provider = createOpenAICompatible({
  name: "gateway",
  baseURL: settings.baseUrl,
  apiKey: settings.key,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const versionOf = (name: string) => JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version as string;

const tools = {
  get_weather: tool({
    description: "The weather of a city.",
    inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
  }),
} as unknown as ToolSet;

/** Kinds of the parts of a stream, and why it ended. */
async function partsOf(model: string): Promise<{ kinds: string[]; finish: string | undefined }> {
  const { stream } = streamText({ model: provider(model), prompt: "hi", tools, maxRetries: 0, onError: () => {} });
  const kinds: string[] = [];
  let finish: string | undefined;
  for await (const part of stream) {
    kinds.push(part.type);
    if (part.type === "finish") finish = part.finishReason;
  }
  return { kinds, finish };
}

const counted = (kinds: readonly string[], kind: string) => kinds.filter((each) => each === kind).length;

await runScriptCases(`ai ${versionOf("ai")}, @ai-sdk/openai-compatible ${versionOf("@ai-sdk/openai-compatible")}`, {
  B25: async () => {
    for (const group of ["oai", "anth", "gem"]) {
      const { text, finishReason, usage } = await generateText({ model: provider(group), prompt: "hi" });
      assert.deepEqual([text, finishReason, usage.inputTokens, usage.outputTokens], ["pong", "stop", 7, 1], group);
      const called = await generateText({ model: provider(`${group}-tools`), prompt: "hi", tools });
      assert.deepEqual(
        [called.finishReason, called.toolCalls.map(({ toolName, input }) => [toolName, input])],
        ["tool-calls", [["get_weather", { city: "Oslo" }]]],
        group,
      );
    }
  },
  B26: async () => {
    const schema = jsonSchema<{ name: string; people: number }>({
      type: "object",
      properties: { name: { type: "string" }, people: { type: "integer" } },
      required: ["name", "people"],
      additionalProperties: false,
    });
    for (const group of ["anth-json", "anth-native-json"]) {
      const { object } = await generateObject({ model: provider(group), prompt: "a city", schema });
      assert.deepEqual(object, { name: "Oslo", people: 717710 });
    }
  },
  C23: async () => {
    for (const group of ["oai-two-tools", "anth-two-tools", "gem-two-tools"]) {
      const { kinds, finish } = await partsOf(group);
      assert.deepEqual([counted(kinds, "tool-call"), finish], [2, "tool-calls"], group);
    }
    for (const group of ["oai-error-after-3", "oai-reset-after-3", "oai-cut-after-3"]) {
      const { kinds, finish } = await partsOf(group);
      assert.deepEqual([counted(kinds, "text-delta"), counted(kinds, "error"), finish], [3, 1, "error"], group);
    }
  },
  E4: async () => {
    const model = provider.embeddingModel("text-embedding");
    const { embedding, usage } = await embed({ model, value: "hello" });
    assert.deepEqual([embedding.length, typeof embedding[0], usage.tokens], [8, "number", 4]);
    const { embeddings } = await embedMany({ model, values: ["a", "b", "c"] });
    assert.deepEqual(
      embeddings.map(({ length }) => length),
      [8, 8, 8],
    );
  },
});
