import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import { subjectOf } from "./recent-changes.ts";

interface CachedCaller {
  readonly caller: Caller;
  readonly subjects: readonly string[];
  /** Set by every hit, cleared when the entry comes up for eviction. */
  isUsed: boolean;
}

/**
 * A bounded cache of callers by the hash of their key, indexed by the subjects that a change can name. It evicts the oldest entry without a
 * hit since it last came up for eviction (second chance), so a hit only sets a mark and does not reorder the map.
 */
export class CallerCache {
  // A Map iterates in insertion order: the first entry is the next candidate for eviction.
  readonly #entries = new Map<string, CachedCaller>();
  readonly #bySubject = new Map<string, Set<string>>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(hash: string): Caller | undefined {
    const entry = this.#entries.get(hash);
    if (!entry) return undefined;
    entry.isUsed = true;
    return entry.caller;
  }

  set(hash: string, caller: Caller): void {
    this.delete(hash);
    if (this.#entries.size >= this.#entriesMax) this.#makeRoom();
    const subjects = subjectsOf(caller);
    this.#entries.set(hash, { caller, subjects, isUsed: false });
    for (const subject of subjects) {
      const hashes = this.#bySubject.get(subject);
      if (hashes) hashes.add(hash);
      else this.#bySubject.set(subject, new Set([hash]));
    }
  }

  delete(hash: string): void {
    const entry = this.#entries.get(hash);
    if (!entry) return;
    this.#entries.delete(hash);
    for (const subject of entry.subjects) {
      const hashes = this.#bySubject.get(subject);
      hashes?.delete(hash);
      if (hashes?.size === 0) this.#bySubject.delete(subject);
    }
  }

  /** Removes all callers that depend on this subject. */
  deleteSubject(subject: string): void {
    for (const hash of [...(this.#bySubject.get(subject) ?? [])]) this.delete(hash);
  }

  #makeRoom(): void {
    for (const [hash, entry] of this.#entries) {
      if (!entry.isUsed) return void this.delete(hash);
      // Moves to the end; if all entries had hits, the loop comes back to this one.
      entry.isUsed = false;
      this.#entries.delete(hash);
      this.#entries.set(hash, entry);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bySubject.clear();
  }
}

/** The subjects whose change makes a cached caller stale. */
export function subjectsOf(caller: Caller): string[] {
  const subjects = [subjectOf("key", caller.keyId), subjectOf("team", caller.teamId), subjectOf("organization", caller.organizationId)];
  if (caller.userId !== undefined) subjects.push(subjectOf("user", caller.userId.toString()));
  return subjects;
}
