import fc from "fast-check";
import { systemClock } from "../../../../common/clock.ts";
import { unit } from "../../../../common/vectors.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { comparedText } from "./compared-text.ts";
import { createMemoryIndex, type IndexLimits } from "./memory-index.ts";
import { RecentVectors } from "./recent-vectors.ts";
import { compileSemanticSettings, semanticRuleOf } from "./semantic-settings.ts";

const LIMITS: IndexLimits = { entriesMax: 100, organizationBytesMax: 1_000_000, bytesMax: 1_000_000 };
const place = (organizationId = "org_1", scope = "s") => ({ organizationId, scope });

describe("the index", () => {
  const open = (limits: Partial<IndexLimits> = {}, nowMs = () => 0) =>
    createMemoryIndex({ clock: { ...systemClock, monotonicMs: nowMs }, limits: { ...LIMITS, ...limits } });
  const entry = (key: string, ttlMs = 1000) => ({ key, ttlMs });

  test("the nearest vector is the one with the largest cosine of all", () => {
    const vector = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(vector, { minLength: 1, maxLength: 40 }), vector, (vectors, query) => {
        const index = open();
        for (const [at, each] of vectors.entries()) index.add(place(), unit(each), entry(String(at)));
        const cosines = vectors.map((each) => cosine(each, query));
        const found = index.nearest(place(), unit(query));
        expect(found?.similarity).toBeCloseTo(Math.max(...cosines), 5);
        expect(cosines[Number(found?.key)]).toBeCloseTo(Math.max(...cosines), 5);
      }),
    );
  });

  test("vectors of another organization, another scope and another size are not compared", () => {
    const index = open();
    index.add(place("org_2"), unit([1, 0]), entry("a"));
    index.add(place("org_1", "t"), unit([1, 0]), entry("b"));
    index.add(place(), unit([1, 0, 0]), entry("c"));
    expect(index.nearest(place(), unit([1, 0]))).toBeUndefined();
  });

  test("a vector expires with its answer, and its memory is free again", () => {
    let nowMs = 0;
    const index = open({}, () => nowMs);
    index.add(place(), unit([1, 0]), entry("a", 10));
    nowMs = 10;
    expect(index.nearest(place(), unit([1, 0]))).toBeUndefined();
    expect(index.held()).toEqual({ entries: 0, bytes: 0 });
  });

  test.each([
    ["entries of an organization", { entriesMax: 2 }],
    ["bytes of an organization", { organizationBytesMax: 2 * 408 }],
    ["bytes of all", { bytesMax: 2 * 408 }],
  ])("the oldest are removed beyond the limit of %s", (_name, limits) => {
    const index = open(limits);
    index.add(place(), unit([1, 0]), entry("a"));
    index.add(place(), unit([0, 1]), entry("b"));
    index.add(place(), unit([-1, 0]), entry("c"));
    expect(index.held()).toEqual({ entries: 2, bytes: 2 * 408 });
    expect(index.nearest(place(), unit([1, 0]))?.key).toBe("b");
  });

  test("an organization that adds no more loses its vectors first; clear removes those of all", () => {
    const index = open({ bytesMax: 2 * 408 });
    for (const organizationId of ["org_1", "org_2", "org_3"]) index.add(place(organizationId), unit([1, 0]), entry("a"));
    expect(["org_1", "org_2", "org_3"].map((id) => index.nearest(place(id), unit([1, 0]))?.key)).toEqual([undefined, "a", "a"]);
    index.clear();
    expect([index.held(), index.nearest(place("org_3"), unit([1, 0]))]).toEqual([{ entries: 0, bytes: 0 }, undefined]);
  });
});

describe("recent vectors", () => {
  const of = (text: string, organizationId = "org_1", model = "m") => ({ organizationId, model, text });
  const vector = unit([1, 0]);

  test("are of one organization, model and text, for ten minutes", () => {
    let nowMs = 0;
    const recent = new RecentVectors({ monotonicMs: () => nowMs });
    recent.set(of("a"), vector);
    const found = () => [of("a"), of("b"), of("a", "org_2"), of("a", "org_1", "n")].map((each) => recent.get(each) === vector);
    expect(found()).toEqual([true, false, false, false]);
    nowMs = 600_000;
    expect(found()).toEqual([false, false, false, false]);
  });

  test("are the newest within the limit of bytes, and none is larger than it", () => {
    const recent = new RecentVectors({ monotonicMs: () => 0 }, 2 * 208);
    for (const text of ["a", "b", "b", "c"]) recent.set(of(text), vector);
    expect(["a", "b", "c"].map((text) => recent.get(of(text)) !== undefined)).toEqual([false, true, true]);
    recent.set(of("d"), unit(Array.from({ length: 100 }, () => 1)));
    expect(["b", "c", "d"].map((text) => recent.get(of(text)))).toEqual([undefined, undefined, undefined]);
  });
});

describe("the compared text", () => {
  const user = (content: unknown) => ({
    messages: [
      { role: "system", content: "be short" },
      { role: "user", content },
    ],
  });

  test("is the last text of the user, and the rest is equal for another text alone", () => {
    const [one, other] = [comparedText(user("what is a river?")), comparedText(user([{ type: "text", text: "what are rivers?" }]))];
    expect([one?.text, other?.text]).toEqual(["what is a river?", "what are rivers?"]);
    expect(one?.rest).toEqual(other?.rest);
    expect(comparedText({ ...user("what is a river?"), temperature: 0 })?.rest).not.toEqual(one?.rest);
    expect(JSON.stringify(one?.rest)).not.toContain("river");
  });

  test("a text with another number has another rest", () => {
    expect(comparedText(user("7 times 8"))?.rest).not.toEqual(comparedText(user("7 times 9"))?.rest);
  });

  test.each([
    ["tools", { ...user("x"), tools: [{ type: "function" }] }],
    ["several choices", { ...user("x"), n: 2 }],
    [
      "an image",
      user([
        { type: "text", text: "x" },
        { type: "image_url", image_url: { url: "u" } },
      ]),
    ],
    ["a tool's result", { messages: [{ role: "tool", content: "x" }] }],
    ["no text", user("  ")],
    ["a long text", user("x".repeat(8193))],
    ["no messages", { prompt: "x" }],
  ])("a request with %s is not compared", (_name, request) => {
    expect(comparedText(request)).toBeUndefined();
  });
});

describe("whether it applies", () => {
  const rule = (params: object, own?: Caller["semanticCache"]) =>
    semanticRuleOf(compileSemanticSettings({ ...params }), { semanticCache: own } as Caller);
  const OPERATOR = { threshold: 0.8, embeddingModel: "m" };
  const params = (semantic_cache: string) => ({ semantic_cache, similarity_threshold: 0.8, semantic_cache_embedding_model: "m" });

  test.each([
    ["without a setting, never", {}, { enabled: true }, undefined],
    ["off, never", params("off"), { enabled: true }, undefined],
    ["opt_in, not unless an organization enables it", params("opt_in"), undefined, undefined],
    ["opt_in, for an organization that enables it", params("opt_in"), { enabled: true }, OPERATOR],
    ["all, for an organization without a setting", params("all"), undefined, OPERATOR],
    ["all, not for an organization that disables it", params("all"), { enabled: false }, undefined],
    [
      "by the organization's own values",
      params("opt_in"),
      { enabled: true, threshold: 0.99, embeddingModel: "own" },
      { threshold: 0.99, embeddingModel: "own" },
    ],
  ])("%s", (_name, settings, own, expected) => {
    expect(rule(settings, own)).toEqual(expected);
  });
});

function cosine(one: readonly number[], other: readonly number[]): number {
  const lengths = Math.hypot(...one) * Math.hypot(...other);
  return lengths === 0 ? 0 : one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0) / lengths;
}
