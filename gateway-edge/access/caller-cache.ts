import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import { subjectOf } from "./recent-changes.ts";

interface Entry {
  readonly caller: Caller;
  readonly subjects: readonly string[];
  /** Since it last came up for removal. */
  isUsed: boolean;
}

/**
 * Callers by the hash of their key: a bounded store that finds what a change touches at once. Who makes room is the oldest that was not
 * used since it last came up: to be found costs a mark, not a new place in the order with every call.
 */
export class CallerCache {
  // A Map keeps its order: the first is the next that comes up.
  readonly #entries = new Map<string, Entry>();
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

  /** Everybody whom a change of this subject touches. */
  deleteSubject(subject: string): void {
    for (const hash of [...(this.#bySubject.get(subject) ?? [])]) this.delete(hash);
  }

  #makeRoom(): void {
    for (const [hash, entry] of this.#entries) {
      if (!entry.isUsed) return void this.delete(hash);
      // Behind all others; when all were used, the round comes back to this one.
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

/** What an answer about a caller depends on. */
export function subjectsOf(caller: Caller): string[] {
  const subjects = [subjectOf("key", caller.keyId), subjectOf("team", caller.teamId), subjectOf("organization", caller.organizationId)];
  if (caller.userId !== undefined) subjects.push(subjectOf("user", caller.userId.toString()));
  return subjects;
}
