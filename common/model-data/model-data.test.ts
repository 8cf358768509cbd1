import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { PROVIDER_KINDS } from "../providers/shared/registry.ts";
import { nanoPerMillionFromMillion, scaleDecimal } from "./decimal.ts";
import { findModelData, modelsOf } from "./model-data.ts";
import type { PriceList } from "./second-list.ts";

const NOVEMBER = new Date("2026-11-15T00:00:00Z");

describe("decimals become nano-USD without a float in between", () => {
  test("a price per token of any size that nano-USD can hold is exact, as text and as a number", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 999_999_999_999_999n }), (nanoPerMillion) => {
        const digits = nanoPerMillion.toString().padStart(16, "0");
        const text = `${digits.slice(0, -15)}.${digits.slice(-15)}`;
        expect(scaleDecimal(text, 15)).toBe(nanoPerMillion);
        expect(scaleDecimal(Number(text), 15)).toBe(nanoPerMillion);
      }),
    );
  });

  test("moving the point and back changes nothing", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.integer({ min: 0, max: 40 }), (amount, places) => {
        expect(scaleDecimal(`${amount}e-${places}`, places)).toBe(amount);
      }),
    );
  });

  test.each([
    ["2.5e-06", 2_500_000_000n],
    [2.5e-6, 2_500_000_000n],
    [0.00000015, 150_000_000n],
    ["0.0000000000000005", 1n],
    ["0.0000000000000004", 0n],
    [".000003", 3_000_000_000n],
    ["1e-7", 100_000_000n],
  ])("%s USD per token", (usd, nano) => {
    expect(scaleDecimal(usd, 15)).toBe(nano);
  });

  test.each(["", ".", "1,5", "NaN", "Infinity", "1e999999", "0x10", "one"])("%p is no decimal", (text) => {
    expect(scaleDecimal(text, 9)).toBeUndefined();
  });

  test("0.075 USD per million is 75,000,000 nano-USD, and a third is rounded to the nearest", () => {
    expect(nanoPerMillionFromMillion(0.075)).toBe(75_000_000n);
    expect(nanoPerMillionFromMillion(0.08333333333333334)).toBe(83_333_333n);
  });
});

describe("model data", () => {
  test("a known model has its list price, limits and abilities", () => {
    expect(findModelData({ kind: "openai", model: "gpt-4o-mini-2024-07-18", at: NOVEMBER })).toMatchObject({
      mode: "chat",
      pricing: { input: 150_000_000n, output: 600_000_000n, cachedInput: 75_000_000n },
      contextWindow: 128_000,
      maxOutputTokens: 16_384,
      capabilities: expect.arrayContaining(["streaming", "function_calling", "vision", "prompt_caching"]),
    });
    expect(findModelData({ kind: "anthropic", model: "claude-3-5-sonnet-20240620", at: NOVEMBER })?.pricing).toEqual({
      input: 3_000_000_000n,
      output: 15_000_000_000n,
      cachedInput: 300_000_000n,
      cacheWrite: 3_750_000_000n,
      cacheWriteHour: 6_000_000_000n,
      webSearch: 10_000_000_000_000n,
      // Five minutes at 0.05 USD an hour.
      fees: { codeSession: 4_166_666_666_667n },
    });
    expect(findModelData({ kind: "openai", model: "text-embedding-3-small" })).toMatchObject({
      mode: "embedding",
      pricing: { input: 20_000_000n, output: 0n },
    });
  });

  test("azure borrows from its lenders, Bedrock's regions and Vertex' Claude are found", () => {
    expect(findModelData({ kind: "azure", model: "gpt-4o" })?.pricing?.input).toBe(2_500_000_000n);
    expect(findModelData({ kind: "bedrock", model: "us.anthropic.claude-sonnet-4-20250514-v1:0" })?.pricing?.output).toBe(15_000_000_000n);
    expect(findModelData({ kind: "vertex_ai", model: "claude-3-5-sonnet@20240620" })?.pricing?.input).toBe(3_000_000_000n);
  });

  test("a price for long input is a tier over the base price", () => {
    const data = findModelData({ kind: "anthropic", model: "claude-sonnet-4-5", at: NOVEMBER });
    expect(data?.pricing?.input).toBe(3_000_000_000n);
    expect(data?.pricing?.tiers).toEqual([
      {
        aboveInputTokens: 200_000,
        input: 6_000_000_000n,
        output: 22_500_000_000n,
        cachedInput: 600_000_000n,
        cacheWrite: 7_500_000_000n,
        cacheWriteHour: 12_000_000_000n,
      },
    ]);
  });

  test("a price is that of the day, and of the dearest hour", () => {
    const o3 = (day: string) => findModelData({ kind: "openai", model: "o3", at: new Date(day) })?.pricing?.input;
    expect(o3("2025-06-09")).toBe(10_000_000_000n);
    expect(o3("2025-06-10")).toBe(2_000_000_000n);
    expect(findModelData({ kind: "deepseek", model: "deepseek-chat", at: NOVEMBER })?.pricing?.input).toBe(270_000_000n);
  });

  test("nothing is guessed for a model, a kind or a wildcard that is not known", () => {
    expect(findModelData({ kind: "openai", model: "gpt-nobody-made-it" })).toBeUndefined();
    expect(findModelData({ kind: "openai_compatible", model: "llama3" })).toBeUndefined();
    expect(findModelData({ kind: "ollama", model: "*" })).toBeUndefined();
    expect(findModelData({ kind: "telepathy", model: "gpt-4o" })).toBeUndefined();
    expect(findModelData({ kind: "openai", model: "*" })).toBeUndefined();
    expect(findModelData({ kind: "openai", model: "" })).toBeUndefined();
  });

  test.each(["ollama", "vllm", "lm_studio", "llamafile"])("what runs on the operator's machines costs nothing: %s", (kind) => {
    expect(findModelData({ kind, model: "llama3.1" })).toMatchObject({ mode: "chat", pricing: { input: 0n, output: 0n } });
    expect(findModelData({ kind, model: "nomic-embed-text" })?.mode).toBe("embedding");
    // The operator sets its output limit.
    expect(findModelData({ kind, model: "deepseek-r1" })?.maxOutputTokens).toBeUndefined();
  });

  test.each([
    ["openai", "whisper-1", { unit: "millisecond", input: 100_000_000n, output: 0n }],
    ["openai", "tts-1", { unit: "character", input: 15_000_000_000n, output: 0n }],
    ["openai", "tts-1-hd", { unit: "character", input: 30_000_000_000n, output: 0n }],
    ["openai", "gpt-4o-transcribe", { input: 2_500_000_000n, output: 10_000_000_000n, audioInput: 6_000_000_000n }],
    ["groq", "whisper-large-v3", { unit: "millisecond", input: 30_833_334n, output: 0n }],
    ["cohere", "embed-english-v3.0", { input: 100_000_000n, output: 0n }],
    ["cohere", "embed-multilingual-light-v3.0", { input: 100_000_000n, output: 0n }],
    ["cohere", "rerank-v3.5", { unit: "search", input: 2_000_000_000_000n, output: 0n }],
    ["cohere", "rerank-multilingual-v3.0", { unit: "search", input: 2_000_000_000_000n, output: 0n }],
  ])("%s %s has its list price in the unit that it is sold by", (kind, model, pricing) => {
    expect(findModelData({ kind, model, at: NOVEMBER })?.pricing).toEqual(pricing);
  });

  const DALL_E_3 = {
    "standard/1024x1024": 40_000_000_000_000n,
    "standard/1024x1792": 80_000_000_000_000n,
    "standard/1792x1024": 80_000_000_000_000n,
    "hd/1024x1024": 80_000_000_000_000n,
    "hd/1024x1792": 120_000_000_000_000n,
    "hd/1792x1024": 120_000_000_000_000n,
  };
  test.each([
    ["openai", "dall-e-3", "image", { unit: "image", input: 0n, output: 40_000_000_000_000n, images: DALL_E_3 }],
    ["azure", "dall-e-3", "image", { unit: "image", input: 0n, output: 40_000_000_000_000n, images: DALL_E_3 }],
    ["vertex_ai", "imagen-4.0-generate-001", "image", { unit: "image", input: 0n, output: 40_000_000_000_000n }],
    ["bedrock", "amazon.rerank-v1:0", "rerank", { unit: "search", input: 1_000_000_000_000n, output: 0n }],
    ["mistral", "mistral-large-2402", "chat", { input: 4_000_000_000n, output: 12_000_000_000n }],
  ])("what the package lacks is found in the second list: %s %s", (kind, model, mode, pricing) => {
    expect(findModelData({ kind, model, at: NOVEMBER })).toMatchObject({ mode, pricing });
    expect(findModelData({ kind, model, at: NOVEMBER, lists: 1 })?.pricing).toBeUndefined();
  });

  test("the second list has figures of a day, all above zero, and none of a model that the package prices", () => {
    const file = readFileSync(join(import.meta.dirname, "second-list.json"), "utf8");
    const { date, source, kinds } = JSON.parse(file) as PriceList;
    expect([date, source]).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d$/), expect.stringContaining("litellm")]);
    for (const [kind, models] of Object.entries(kinds)) {
      expect(PROVIDER_KINDS.map((each) => each.kind)).toContain(kind);
      for (const model of Object.keys(models)) {
        const found = findModelData({ kind, model, at: NOVEMBER })?.pricing;
        expect([kind, model, (found?.input ?? 0n) + (found?.output ?? 0n) > 0n || found?.fees !== undefined]).toEqual([kind, model, true]);
        expect([kind, model, findModelData({ kind, model, at: NOVEMBER, lists: 1 })?.pricing]).toEqual([kind, model, undefined]);
      }
    }
  });

  test("every model of every kind can be asked for, and none has a negative price", () => {
    for (const { kind } of PROVIDER_KINDS) {
      for (const model of modelsOf(kind)) {
        const pricing = findModelData({ kind, model, at: NOVEMBER })?.pricing;
        const { unit: _unit, tiers = [], fees = {}, ...amounts } = pricing ?? {};
        for (const price of [amounts, fees, ...tiers].flatMap((each) => Object.values(each)))
          expect(Number(price)).toBeGreaterThanOrEqual(0);
      }
    }
    expect(modelsOf("openai")).toContain("gpt-4o");
    expect(modelsOf("echo")).toEqual(["echo"]);
    expect(modelsOf("vllm")).toEqual([]);
  });
});
