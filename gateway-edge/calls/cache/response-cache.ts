/** Answers given before, under keys that nobody can guess. Adapters may throw; tolerant-cache.ts makes a failure a miss. */
export interface ResponseCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  /** Forgets every answer. */
  clear(): Promise<void>;
  /** What it holds, where it is this process's own. */
  held?(): { readonly entries: number; readonly bytes: number };
  close(): Promise<void>;
}

/** What is larger is not kept: it would drive out a thousand others. */
export const ENTRY_BYTES_MAX = 1024 * 1024;
