import { systemClock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { cacheContract } from "./cache-contract.ts";
import { readCacheControls } from "./cache-controls.ts";
import { cacheKey } from "./cache-key.ts";
import { compileCacheSettings } from "./cache-settings.ts";
import { createMemoryCache } from "./memory-cache.ts";
import { tolerant } from "./tolerant-cache.ts";

cacheContract("memory", () => createMemoryCache({ clock: systemClock, bytesMax: 1024 * 1024 }));

describe("memory", () => {
  test("never holds more bytes than its limit: it evicts the least recently used, and refuses what is too large", async () => {
    const cache = createMemoryCache({ clock: systemClock, bytesMax: 300 });
    const value = "x".repeat(99);
    for (const key of ["a", "b", "c"]) await cache.set(key, value, 60_000);
    await cache.get("a");
    await cache.set("d", value, 60_000);
    expect(await Promise.all(["a", "b", "c", "d"].map(async (key) => (await cache.get(key)) !== undefined))).toEqual([
      true,
      false,
      true,
      true,
    ]);
    await cache.set("e", "x".repeat(400), 60_000);
    expect(await cache.get("e")).toBeUndefined();
    expect(await cache.get("d")).toBe(value);
  });
});

test("a read that fails is a miss, and not the same as an answer that is not there", async () => {
  const memory = createMemoryCache({ clock: systemClock, bytesMax: 300 });
  const get = () => Promise.reject(new Error("gone"));
  const [working, failing] = [memory, { ...memory, get }].map((cache) => tolerant(cache, { logger: silentLogger, failed: () => {} }));
  expect(await working?.read("a")).toEqual({ value: undefined, isFailed: false });
  expect([await failing?.read("a"), await failing?.get("a")]).toEqual([{ value: undefined, isFailed: true }, undefined]);
});

describe("the key", () => {
  const asked = { organizationId: "org_1", operation: "chat", group: ["gpt", "gpt"], namespace: undefined };
  const fields = { messages: [{ role: "user", content: "hi" }], temperature: 0 };
  const key = (more: object = {}, from: object = {}) => cacheKey({ ...asked, ...from, fields: { ...fields, ...more } });

  test("does not know the order of fields, who asks within the organization, or whether it is streamed", () => {
    const turned = { temperature: 0, messages: [{ content: "hi", role: "user" }] };
    expect(cacheKey({ ...asked, fields: turned })).toBe(key());
    expect(key({ user: "u", metadata: { a: 1 }, stream: true, stream_options: { include_usage: true }, model: "alias" })).toBe(key());
  });

  test("differs by organization, operation, group, namespace and everything that may change the answer", () => {
    const keys = [
      key(),
      key({}, { organizationId: "org_2" }),
      key({}, { operation: "completions" }),
      key({}, { group: ["other", "gpt"] }),
      key({}, { namespace: "n" }),
      key({ temperature: 1 }),
      key({ seed: 1 }),
      key({ messages: [{ role: "user", content: "hi " }] }),
      key({ tools: { a: 1 } }),
      key({ tools: [["a", 1]] }),
      key({ tools: { fields: [["a", 1]] } }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe("settings", () => {
  const compile = (litellm: object, chosen?: "memory" | "redis") =>
    compileCacheSettings(JSON.stringify({ litellm_settings: litellm }), chosen);

  test("off unless the file or the environment turns it on", () => {
    expect(compile({})).toBeUndefined();
    expect(compile({ cache: false, cache_params: { type: "local" } })).toBeUndefined();
    expect(compile({ cache: true })).toMatchObject({ type: "memory", ttlMs: 600_000, byDefault: true });
    expect(compile({ cache_params: { ttl: 5 } }, "redis")).toMatchObject({ type: "redis", ttlMs: 5000 });
    expect(compileCacheSettings("not json", "memory")).toMatchObject({ type: "memory" });
  });

  test("call types by LiteLLM's names, asynchronous or not", () => {
    const operations = (names: string[]) => [
      ...(compile({ cache: true, cache_params: { supported_call_types: names } })?.operations ?? []),
    ];
    expect(operations(["acompletion", "completion", "atranscription"])).toEqual(["chat"]);
    expect(operations(["aembedding", "atext_completion", "amoderation"])).toEqual(["embeddings", "completions", "moderations"]);
  });
});

describe("what a request may say", () => {
  const settings = compileCacheSettings("{}", "memory");
  const off = compileCacheSettings(JSON.stringify({ litellm_settings: { cache: true, cache_params: { mode: "default_off" } } }), undefined);
  if (!settings || !off) throw new Error("no settings");

  test.each([
    [{}, { read: true, write: true, ttlMs: 600_000, ageMsMax: undefined }],
    [{ caching: false }, { read: false, write: false }],
    [{ cache: { "no-cache": true } }, { read: false, write: true }],
    [{ cache: { "no-store": true } }, { read: true, write: false }],
    [{ cache: { ttl: 1.5, "s-maxage": 2 } }, { ttlMs: 1500, ageMsMax: 2000 }],
    [{ cache: { ttl: 0 } }, { read: true, write: false }],
  ])("%j", (request, expected) => {
    expect(readCacheControls(request, settings)).toMatchObject(expected);
  });

  test("where it is off by default, only requests that ask for it use it", () => {
    expect(readCacheControls({}, off)).toMatchObject({ read: false, write: false });
    expect(readCacheControls({ caching: true }, off)).toMatchObject({ read: true, write: true });
    expect(readCacheControls({ cache: { "use-cache": true } }, off)).toMatchObject({ read: true, write: true });
  });

  test.each([{ cache: "no" }, { cache: { ttl: -1 } }, { cache: { ttl: "5" } }, { cache: { "no-cache": "yes" } }])(
    "refuses %j",
    (request) => {
      expect(() => readCacheControls(request, settings)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
    },
  );
});
