import { silentLogger } from "../../../common/logger.ts";
import { type RedisServer, startRedis } from "../../../test/helpers/redis.ts";
import { cacheContract } from "./cache-contract.ts";
import { openRedisCache } from "./redis-cache.ts";
import type { ResponseCache } from "./response-cache.ts";
import { tolerant } from "./tolerant-cache.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
}, 180_000);
afterAll(() => server?.stop());

async function connected(): Promise<ResponseCache> {
  const cache = openRedisCache({ url: server.url, logger: silentLogger });
  await until(
    async () =>
      (await cache.get("nothing").then(
        () => true,
        () => false,
      )) === true,
  );
  return cache;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error("it did not come about within ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

cacheContract("redis", connected);

test("two edges with the same Redis share their answers", async () => {
  const [one, two] = [await connected(), await connected()];
  await one.set("shared", "said by one", 60_000);
  expect(await two.get("shared")).toBe("said by one");
  await Promise.all([one.close(), two.close()]);
});

test("a Redis that is gone is a miss at once, counted; back again it serves again", async () => {
  let failures = 0;
  const cache = tolerant(await connected(), { logger: silentLogger, failed: () => void failures++ });
  await cache.set("before", "x", 60_000);
  await server.kill();
  const startedMs = performance.now();
  expect(await cache.get("before")).toBeUndefined();
  await cache.set("during", "x", 60_000);
  expect(performance.now() - startedMs).toBeLessThan(2000);
  expect(failures).toBeGreaterThanOrEqual(2);
  await server.start();
  await until(async () => {
    await cache.set("after", "x", 60_000);
    return (await cache.get("after")) === "x";
  });
  await cache.close();
}, 30_000);
