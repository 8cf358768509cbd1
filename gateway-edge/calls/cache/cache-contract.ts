import type { ResponseCache } from "./response-cache.ts";

/** The contract of every response cache. */
export function cacheContract(name: string, open: () => ResponseCache | Promise<ResponseCache>): void {
  describe(`${name}: the cache contract`, () => {
    let cache: ResponseCache;
    beforeAll(async () => {
      cache = await open();
    });
    afterAll(() => cache.close());

    test("a stored answer is found, another key is not", async () => {
      await cache.set("a", "one", 60_000);
      expect(await cache.get("a")).toBe("one");
      expect(await cache.get("b")).toBeUndefined();
    });

    test("a second set replaces the first", async () => {
      await cache.set("c", "one", 60_000);
      await cache.set("c", "zwei – 二", 60_000);
      expect(await cache.get("c")).toBe("zwei – 二");
    });

    test("an answer older than its TTL is gone", async () => {
      await cache.set("d", "one", 30);
      await new Promise((resolve) => setTimeout(resolve, 120));
      expect(await cache.get("d")).toBeUndefined();
    });

    test("clear removes every answer, and later answers are stored again", async () => {
      for (const key of ["e", "f"]) await cache.set(key, "one", 60_000);
      await cache.clear();
      expect([await cache.get("e"), await cache.get("f")]).toEqual([undefined, undefined]);
      await cache.set("e", "two", 60_000);
      expect(await cache.get("e")).toBe("two");
    });
  });
}
