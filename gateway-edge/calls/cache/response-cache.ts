/** Stored answers, under keys that callers cannot guess. Adapters may throw; tolerant-cache.ts makes a failure a miss. */
export interface ResponseCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  /** Deletes every answer. */
  clear(): Promise<void>;
  /** What the cache holds, for a cache in this process. */
  held?(): { readonly entries: number; readonly bytes: number };
  close(): Promise<void>;
}

/** Larger answers are not stored: each would evict a thousand others. */
export const ENTRY_BYTES_MAX = 1024 * 1024;
