import type { Clock } from "../../../../common/clock.ts";
import { product } from "../../../../common/vectors.ts";
import type { Neighbor, VectorIndex, VectorPlace } from "./vector-index.ts";

export interface IndexLimits {
  /** Of one organization. */
  readonly entriesMax: number;
  /** Of one organization. */
  readonly organizationBytesMax: number;
  /** Of all organizations. */
  readonly bytesMax: number;
}

interface Entry {
  readonly scope: string;
  readonly key: string;
  readonly vector: Float32Array;
  readonly bytes: number;
  readonly untilMs: number;
}

/** The size of an entry beside its vector: two digests and three references. */
const ENTRY_BYTES = 400;

/** In this process. Every vector of a place is compared: a graph would find neighbors sooner, and not always the nearest. */
export function createMemoryIndex({ clock, limits }: { clock: Clock; limits: IndexLimits }): VectorIndex {
  // In the order of the last addition: the first is the first to lose entries.
  const organizations = new Map<string, OrganizationVectors>();
  let bytes = 0;

  function change(id: string, vectors: OrganizationVectors, work: () => void): void {
    bytes -= vectors.bytes;
    work();
    bytes += vectors.bytes;
    if (vectors.size === 0) organizations.delete(id);
  }

  return {
    nearest({ organizationId, scope }, vector) {
      const vectors = organizations.get(organizationId);
      if (!vectors) return undefined;
      let found: Neighbor | undefined;
      change(organizationId, vectors, () => {
        found = vectors.nearest(scope, vector, clock.monotonicMs());
      });
      return found;
    },
    add({ organizationId, scope }, vector, { key, ttlMs }) {
      const entry = { scope, key, vector, bytes: vector.byteLength + ENTRY_BYTES, untilMs: clock.monotonicMs() + ttlMs };
      if (entry.bytes > Math.min(limits.organizationBytesMax, limits.bytesMax)) return;
      const vectors = organizations.get(organizationId) ?? new OrganizationVectors();
      organizations.delete(organizationId);
      organizations.set(organizationId, vectors);
      change(organizationId, vectors, () => {
        vectors.add(entry);
        while (vectors.size > limits.entriesMax || vectors.bytes > limits.organizationBytesMax) vectors.removeOldest();
      });
      for (const [id, oldest] of organizations) {
        while (bytes > limits.bytesMax && oldest.size > 0) change(id, oldest, () => oldest.removeOldest());
        if (bytes <= limits.bytesMax) break;
      }
    },
    remove({ organizationId, scope }, key) {
      const vectors = organizations.get(organizationId);
      if (vectors) change(organizationId, vectors, () => vectors.remove(scope, key));
    },
    clear() {
      organizations.clear();
      bytes = 0;
    },
    held: () => ({ entries: [...organizations.values()].reduce((sum, { size }) => sum + size, 0), bytes }),
  };
}

class OrganizationVectors {
  /** In the order of their addition. */
  readonly #entries = new Set<Entry>();
  readonly #scopes = new Map<string, Map<string, Entry>>();
  bytes = 0;

  get size(): number {
    return this.#entries.size;
  }

  nearest(scope: string, vector: Float32Array, nowMs: number): Neighbor | undefined {
    let found: Neighbor | undefined;
    for (const entry of this.#scopes.get(scope)?.values() ?? []) {
      if (entry.untilMs <= nowMs) {
        this.#drop(entry);
      } else if (entry.vector.length === vector.length) {
        const similarity = product(vector, entry.vector);
        if (similarity > (found?.similarity ?? Number.NEGATIVE_INFINITY)) found = { key: entry.key, similarity };
      }
    }
    return found;
  }

  add(entry: Entry): void {
    this.remove(entry.scope, entry.key);
    this.#entries.add(entry);
    const ofScope = this.#scopes.get(entry.scope) ?? new Map<string, Entry>();
    this.#scopes.set(entry.scope, ofScope.set(entry.key, entry));
    this.bytes += entry.bytes;
  }

  remove(scope: VectorPlace["scope"], key: string): void {
    const entry = this.#scopes.get(scope)?.get(key);
    if (entry) this.#drop(entry);
  }

  removeOldest(): void {
    const [oldest] = this.#entries;
    if (oldest) this.#drop(oldest);
  }

  #drop(entry: Entry): void {
    const ofScope = this.#scopes.get(entry.scope);
    ofScope?.delete(entry.key);
    if (ofScope?.size === 0) this.#scopes.delete(entry.scope);
    this.#entries.delete(entry);
    this.bytes -= entry.bytes;
  }
}
