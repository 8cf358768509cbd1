import type { Redis } from "ioredis";
import type { Logger } from "../../../common/logger.ts";
import type { ResponseCache } from "./response-cache.ts";

const PREFIX = "tributary:cache:";
/** A slower cache does not help. */
const COMMAND_MS = 250;
const CONNECT_MS = 2000;
const RECONNECT_MS_MAX = 2000;
const SCAN_COUNT = 1000;

/** Shared by every edge with the same Redis. Without a connection every command fails at once; nothing is queued. */
export function openRedisCache(options: RedisCacheOptions): ResponseCache {
  const connecting = connect(options);
  return {
    get: async (key) => (await (await connecting).get(PREFIX + key)) ?? undefined,
    set: async (key, value, ttlMs) => {
      await (await connecting).set(PREFIX + key, value, "PX", Math.max(1, Math.round(ttlMs)));
    },
    clear: async () => removeAll(await connecting),
    close: async () => (await connecting).disconnect(),
  };
}

/** In steps, so that the server can answer other commands meanwhile. */
async function removeAll(redis: Redis): Promise<void> {
  for (let cursor = "0", isFirst = true; isFirst || cursor !== "0"; isFirst = false) {
    const [next, keys] = await redis.scan(cursor, "MATCH", `${PREFIX}*`, "COUNT", SCAN_COUNT);
    if (keys.length > 0) await redis.unlink(...keys);
    cursor = next;
  }
}

interface RedisCacheOptions {
  readonly url: string;
  readonly logger: Logger;
}

/** The driver is loaded here: an edge with a cache in memory does not need it. */
async function connect({ url, logger }: RedisCacheOptions): Promise<Redis> {
  const { Redis } = await import("ioredis");
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_MS,
    connectTimeout: CONNECT_MS,
    retryStrategy: (times) => Math.min(times * 100, RECONNECT_MS_MAX),
  });
  let isDown = false;
  // Without a listener the driver's errors would end the process. Logged once per outage.
  redis.on("error", (error: Error) => {
    if (!isDown) logger.warn({ error: error.message }, "the Redis of the response cache cannot be reached; calls go on without it");
    isDown = true;
  });
  redis.on("ready", () => {
    isDown = false;
  });
  return redis;
}
