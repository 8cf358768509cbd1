import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import type { Caller, Change, ResolveKeyResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import { CallerCache, subjectsOf } from "./caller-cache.ts";
import type { ControlPlane } from "./clients/control-plane.ts";
import { gatherKeys, type ResolveKey } from "./gather-keys.ts";
import { placeOf } from "./place.ts";
import { createRecentChanges, type RecentChanges, subjectOf } from "./recent-changes.ts";

/** What the mirror needs. */
export interface MirrorDeps {
  readonly access: Pick<ControlPlane["access"], "resolveKey">;
  readonly clock: Clock;
  /** How long cached callers stay valid without a heartbeat of the control plane. */
  readonly ageMsMax: number;
  readonly limits?: Partial<MirrorLimits>;
}

/** Sizes and times of the mirror; tests lower them. */
export interface MirrorLimits {
  callersMax: number;
  unknownMax: number;
  unknownMs: number;
  resolveMs: number;
  retryDelayMs: number;
  budgetMs: number;
  recentChangesMax: number;
}

const LIMITS: MirrorLimits = {
  callersMax: 100_000,
  unknownMax: 10_000,
  unknownMs: 1000,
  // As long as for a lease: the first call of a key waits rather than fails while a control plane is busy. Repeated earlier, look-ups that
  // are only late would be the load that makes them late.
  resolveMs: 3000,
  retryDelayMs: 100,
  budgetMs: 8000,
  recentChangesMax: 1024,
};

/** A store without a primary cannot revoke a key, so cached callers stay valid; after this time they do not. */
const NO_PRIMARY_MS_MAX = 30_000;

/** An answer that is older than a change is asked for again, this many times in all; then it is returned but not cached. */
const STALE_ATTEMPTS = 3;

/** This edge's cache of API keys. The control plane's feed invalidates what changes. */
export interface Mirror {
  /** The caller of the key with this SHA-256; undefined if there is none. Throws UNAVAILABLE if the control plane does not answer. */
  findCaller(sha256: Buffer): Caller | undefined | Promise<Caller | undefined>;
  /**
   * Takes a message of the feed: a heartbeat with changes. With `noPrimary` the store has no primary: nothing changes in it, and nothing
   * newer can be read.
   */
  receive(changes: readonly Change[], sign?: { noPrimary: boolean }): void;
  /** For work that holds a caller beside the cache: it is called with what tells whether that caller may have changed. */
  onChange(listener: (isChanged: (caller: Caller) => boolean) => void): void;
  /** Empties the cache, because changes may have been missed. */
  dropAll(): void;
  /** Whether the last heartbeat is recent enough to use cached callers. */
  isAlive(): boolean;
  /** Time since the last heartbeat; infinite before the first one. */
  ageMs(): number;
  size(): number;
}

export function createMirror(deps: MirrorDeps): Mirror {
  return new KeyMirror(deps);
}

class KeyMirror implements Mirror {
  readonly #deps: MirrorDeps;
  readonly #limits: MirrorLimits;
  readonly #resolveKey: ResolveKey;
  readonly #callers: CallerCache;
  readonly #recent: RecentChanges;
  readonly #unknownUntilMs = new Map<string, number>();
  readonly #listeners: ((isChanged: (caller: Caller) => boolean) => void)[] = [];
  readonly #underWay = new Map<string, Promise<Caller | undefined>>();
  #receivedAtMs = Number.NEGATIVE_INFINITY;
  /** The last message of a control plane whose store had a primary. */
  #wholeAtMs = Number.NEGATIVE_INFINITY;
  /** Counts dropAll: an answer from before it is not cached after it. */
  #generation = 0;

  constructor(deps: MirrorDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
    this.#resolveKey = gatherKeys(deps);
    this.#callers = new CallerCache(this.#limits.callersMax);
    this.#recent = createRecentChanges(this.#limits.recentChangesMax);
  }

  findCaller(sha256: Buffer): Caller | undefined | Promise<Caller | undefined> {
    const hash = textOf(sha256);
    // Without a heartbeat the cache is not used: a key may have been revoked meanwhile.
    const known = this.isAlive() ? this.#callers.get(hash) : undefined;
    if (known) return this.#unexpired(known);
    if (this.#isKnownUnknown(hash)) return undefined;
    return (this.#underWay.get(hash) ?? this.#ask(hash, sha256)).then((caller) => this.#unexpired(caller));
  }

  receive(changes: readonly Change[], { noPrimary }: { noPrimary: boolean } = { noPrimary: false }): void {
    this.#receivedAtMs = this.#deps.clock.monotonicMs();
    if (!noPrimary) this.#wholeAtMs = this.#receivedAtMs;
    for (const change of changes) {
      this.#recent.add(change);
      this.#callers.deleteSubject(subjectOf(change.kind, change.subject));
      // The changed key may be one that was unknown before.
      if (change.kind === "key") this.#unknownUntilMs.clear();
    }
    if (changes.length > 0) this.#announce(new Set(changes.map(({ kind, subject }) => subjectOf(kind, subject))));
  }

  onChange(listener: (isChanged: (caller: Caller) => boolean) => void): void {
    this.#listeners.push(listener);
  }

  #announce(subjects: ReadonlySet<string>): void {
    for (const listener of this.#listeners) listener((caller) => subjectsOf(caller).some((subject) => subjects.has(subject)));
  }

  dropAll(): void {
    this.#generation++;
    this.#callers.clear();
    this.#unknownUntilMs.clear();
    for (const listener of this.#listeners) listener(() => true);
  }

  isAlive(): boolean {
    const { clock, ageMsMax } = this.#deps;
    const nowMs = clock.monotonicMs();
    return nowMs - this.#receivedAtMs < ageMsMax && nowMs - this.#wholeAtMs < Math.max(ageMsMax, NO_PRIMARY_MS_MAX);
  }

  ageMs(): number {
    return this.#deps.clock.monotonicMs() - this.#receivedAtMs;
  }

  size(): number {
    return this.#callers.size;
  }

  #unexpired(caller: Caller | undefined): Caller | undefined {
    return caller && isExpired(caller, this.#deps.clock) ? undefined : caller;
  }

  #isKnownUnknown(hash: string): boolean {
    const untilMs = this.#unknownUntilMs.get(hash);
    return untilMs !== undefined && this.#deps.clock.monotonicMs() < untilMs;
  }

  /** Concurrent lookups of one key share one request. */
  #ask(hash: string, sha256: Buffer): Promise<Caller | undefined> {
    const answer = this.#resolve(hash, sha256).finally(() => this.#underWay.delete(hash));
    this.#underWay.set(hash, answer);
    return answer;
  }

  async #resolve(hash: string, sha256: Buffer): Promise<Caller | undefined> {
    for (let attempt = 1; ; attempt++) {
      const generation = this.#generation;
      const answer = await this.#resolveWithRetry(sha256);
      const { caller } = answer;
      const place = placeOf(answer);
      // A change that is newer than the answer arrived meanwhile: ask again.
      const overtaken = caller ? this.#recent.isStale(place, subjectsOf(caller)) : this.#recent.mayHaveNewKeys(place);
      const stale = overtaken || generation !== this.#generation;
      if (stale && attempt < STALE_ATTEMPTS) continue;
      if (!stale) this.#store(hash, caller);
      return caller;
    }
  }

  async #resolveWithRetry(sha256: Buffer): Promise<ResolveKeyResponse> {
    const { clock } = this.#deps;
    const { resolveMs, retryDelayMs, budgetMs } = this.#limits;
    const startedMs = clock.monotonicMs();
    try {
      return await this.#resolveKey(sha256, { deadlineMs: resolveMs });
    } catch (thrown) {
      const spentMs = clock.monotonicMs() - startedMs + retryDelayMs;
      if (!isTransient(asAppError(thrown)) || spentMs >= budgetMs) throw cannotTell(thrown);
      await clock.sleep(retryDelayMs);
      const deadlineMs = Math.min(resolveMs, budgetMs - spentMs);
      return await this.#resolveKey(sha256, { deadlineMs }).catch((again: unknown) => {
        throw cannotTell(again);
      });
    }
  }

  #store(hash: string, caller: Caller | undefined): void {
    this.#unknownUntilMs.delete(hash);
    if (caller) {
      // Only cached while the feed delivers the changes that invalidate it.
      if (this.isAlive()) this.#callers.set(hash, caller);
      return;
    }
    this.#callers.delete(hash);
    if (this.#unknownUntilMs.size >= this.#limits.unknownMax) this.#unknownUntilMs.delete(this.#unknownUntilMs.keys().next().value ?? "");
    this.#unknownUntilMs.set(hash, this.#deps.clock.monotonicMs() + this.#limits.unknownMs);
  }
}

function isExpired(caller: Caller, clock: Clock): boolean {
  return caller.status === "expired" || (caller.expiresAt !== undefined && caller.expiresAt.getTime() <= clock.now());
}

function isTransient(error: AppError): boolean {
  return error.code === "UNAVAILABLE" || error.code === "DB_TIMEOUT";
}

// Fails closed: a key that cannot be checked is refused.
function cannotTell(cause: unknown): AppError {
  return new AppError("UNAVAILABLE", "The API key cannot be checked right now. Try again shortly.", { retryAfterSeconds: 1, cause });
}

const texts = new WeakMap<Buffer, string>();

/** A hash as a key of maps. The reader of keys has one buffer for each connection and key, so that it is made once for both. */
function textOf(sha256: Buffer): string {
  const known = texts.get(sha256);
  if (known !== undefined) return known;
  const text = sha256.toString("base64");
  texts.set(sha256, text);
  return text;
}
