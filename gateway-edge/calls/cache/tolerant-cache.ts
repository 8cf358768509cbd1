import type { Logger } from "../../../common/logger.ts";
import { ENTRY_BYTES_MAX, type ResponseCache } from "./response-cache.ts";

/** A cache that never fails a call: a failed read is a miss, a failed write is dropped. Both are counted and logged. */
export interface TolerantCache extends ResponseCache {
  /** As `get`; it also says whether the read failed, for callers that must not take that for an answer that is gone. */
  read(key: string): Promise<CacheRead>;
}

export interface CacheRead {
  readonly value: string | undefined;
  readonly isFailed: boolean;
}

export function tolerant(cache: ResponseCache, { logger, failed }: { logger: Logger; failed: () => void }): TolerantCache {
  const note = (error: unknown) => {
    failed();
    logger.debug({ error: String(error) }, "the response cache failed; the call goes on without it");
  };
  const read = async (key: string): Promise<CacheRead> => {
    try {
      return { value: await cache.get(key), isFailed: false };
    } catch (error) {
      note(error);
      return { value: undefined, isFailed: true };
    }
  };
  return {
    read,
    get: async (key) => (await read(key)).value,
    async set(key, value, ttlMs) {
      if (Buffer.byteLength(value) > ENTRY_BYTES_MAX) return;
      await cache.set(key, value, ttlMs).catch(note);
    },
    clear: () => cache.clear().catch(note),
    ...(cache.held ? { held: cache.held } : {}),
    close: () => cache.close().catch(note),
  };
}
