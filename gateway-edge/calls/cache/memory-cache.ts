import type { Clock } from "../../../common/clock.ts";
import type { ResponseCache } from "./response-cache.ts";

interface MemoryEntry {
  readonly value: string;
  readonly bytes: number;
  readonly untilMs: number;
}

/** In this process, limited in bytes; evicts the least recently used entry. */
export function createMemoryCache({ clock, bytesMax }: { clock: Clock; bytesMax: number }): ResponseCache {
  // A map preserves the order of insertion: an entry that is read moves to the end.
  const entries = new Map<string, MemoryEntry>();
  let bytes = 0;

  function drop(key: string): void {
    bytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  }

  async function clear(): Promise<void> {
    entries.clear();
    bytes = 0;
  }

  return {
    async get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      drop(key);
      if (entry.untilMs <= clock.monotonicMs()) return undefined;
      entries.set(key, entry);
      bytes += entry.bytes;
      return entry.value;
    },
    async set(key, value, ttlMs) {
      drop(key);
      const size = Buffer.byteLength(value) + key.length;
      if (size > bytesMax) return;
      entries.set(key, { value, bytes: size, untilMs: clock.monotonicMs() + ttlMs });
      bytes += size;
      for (const oldest of entries.keys()) {
        if (bytes <= bytesMax) break;
        drop(oldest);
      }
    },
    clear,
    held: () => ({ entries: entries.size, bytes }),
    close: clear,
  };
}
