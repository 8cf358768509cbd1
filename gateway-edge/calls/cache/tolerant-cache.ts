import type { Logger } from "../../../common/logger.ts";
import { ENTRY_BYTES_MAX, type ResponseCache } from "./response-cache.ts";

/** A cache that never fails a call: a failed read is a miss, a failed write is dropped. Both are counted and logged. */
export function tolerant(cache: ResponseCache, { logger, failed }: { logger: Logger; failed: () => void }): ResponseCache {
  const note = (error: unknown) => {
    failed();
    logger.debug({ error: String(error) }, "the response cache failed; the call goes on without it");
  };
  return {
    async get(key) {
      try {
        return await cache.get(key);
      } catch (error) {
        note(error);
        return undefined;
      }
    },
    async set(key, value, ttlMs) {
      if (Buffer.byteLength(value) > ENTRY_BYTES_MAX) return;
      await cache.set(key, value, ttlMs).catch(note);
    },
    clear: () => cache.clear().catch(note),
    ...(cache.held ? { held: cache.held } : {}),
    close: () => cache.close().catch(note),
  };
}
