import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import type { Caller, Change, ResolveKeyResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import { CallerCache, subjectsOf } from "./caller-cache.ts";
import type { ControlPlane } from "./clients/control-plane.ts";
import { createRecentChanges, type RecentChanges, subjectOf } from "./recent-changes.ts";

export interface MirrorDeps {
  readonly access: Pick<ControlPlane["access"], "resolveKey">;
  readonly clock: Clock;
  /** How long answers are believed without a sign of life from the control plane. */
  readonly ageMsMax: number;
  readonly limits?: Partial<MirrorLimits>;
}

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
  resolveMs: 300,
  retryDelayMs: 100,
  budgetMs: 1000,
  recentChangesMax: 1024,
};

/** A store without a primary can revoke nothing; it is believed to be in that state for no longer than this. */
const NO_PRIMARY_MS_MAX = 30_000;

/** An answer that keeps losing against changes is given as it is after so many tries, but never kept. */
const STALE_ATTEMPTS = 3;

/** What this edge knows of keys: a cache that the control plane keeps true by telling every change. */
export interface Mirror {
  /** The caller behind the SHA-256 of a key; undefined when there is none. Throws UNAVAILABLE when nobody can say. */
  findCaller(sha256: Buffer): Caller | undefined | Promise<Caller | undefined>;
  /** The control plane is heard: it lives, and this has changed. Without a primary nothing else can have changed, and no more is known. */
  hear(changes: readonly Change[], sign?: { noPrimary: boolean }): void;
  /** Changes may have been missed. */
  dropAll(): void;
  isAlive(): boolean;
  size(): number;
}

export function createMirror(deps: MirrorDeps): Mirror {
  return new KeyMirror(deps);
}

class KeyMirror implements Mirror {
  readonly #deps: MirrorDeps;
  readonly #limits: MirrorLimits;
  readonly #callers: CallerCache;
  readonly #recent: RecentChanges;
  readonly #unknownUntilMs = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<Caller | undefined>>();
  #heardAtMs = Number.NEGATIVE_INFINITY;
  /** When the control plane could last read all of its store. */
  #wholeAtMs = Number.NEGATIVE_INFINITY;
  /** Counts dropAll: an answer from before it is not kept after it. */
  #generation = 0;

  constructor(deps: MirrorDeps) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...deps.limits };
    this.#callers = new CallerCache(this.#limits.callersMax);
    this.#recent = createRecentChanges(this.#limits.recentChangesMax);
  }

  findCaller(sha256: Buffer): Caller | undefined | Promise<Caller | undefined> {
    const hash = sha256.toString("base64");
    // Without a sign of life the answers kept are worth nothing: a key may have been removed meanwhile.
    const known = this.isAlive() ? this.#callers.get(hash) : undefined;
    if (known) return this.#unexpired(known);
    if (this.#isKnownUnknown(hash)) return undefined;
    return (this.#underWay.get(hash) ?? this.#ask(hash, sha256)).then((caller) => this.#unexpired(caller));
  }

  hear(changes: readonly Change[], { noPrimary }: { noPrimary: boolean } = { noPrimary: false }): void {
    this.#heardAtMs = this.#deps.clock.monotonicMs();
    if (!noPrimary) this.#wholeAtMs = this.#heardAtMs;
    for (const change of changes) {
      this.#recent.add(change);
      this.#callers.deleteSubject(subjectOf(change.kind, change.subject));
      // It may be the very key that was unknown a moment ago.
      if (change.kind === "key") this.#unknownUntilMs.clear();
    }
  }

  dropAll(): void {
    this.#generation++;
    this.#callers.clear();
    this.#unknownUntilMs.clear();
  }

  isAlive(): boolean {
    const { clock, ageMsMax } = this.#deps;
    const nowMs = clock.monotonicMs();
    return nowMs - this.#heardAtMs < ageMsMax && nowMs - this.#wholeAtMs < Math.max(ageMsMax, NO_PRIMARY_MS_MAX);
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

  /** One question for all who ask the same at the same time. */
  #ask(hash: string, sha256: Buffer): Promise<Caller | undefined> {
    const answer = this.#resolve(hash, sha256).finally(() => this.#underWay.delete(hash));
    this.#underWay.set(hash, answer);
    return answer;
  }

  async #resolve(hash: string, sha256: Buffer): Promise<Caller | undefined> {
    for (let attempt = 1; ; attempt++) {
      const generation = this.#generation;
      const { caller, revision } = await this.#resolveWithRetry(sha256);
      // A change that arrived while the answer was on its way and is newer than it must win: ask again.
      const overtaken = caller ? this.#recent.isStale(revision, subjectsOf(caller)) : this.#recent.mayHaveNewKeys(revision);
      const stale = overtaken || generation !== this.#generation;
      if (stale && attempt < STALE_ATTEMPTS) continue;
      if (!stale) this.#keep(hash, caller);
      return caller;
    }
  }

  async #resolveWithRetry(sha256: Buffer): Promise<ResolveKeyResponse> {
    const { access, clock } = this.#deps;
    const { resolveMs, retryDelayMs, budgetMs } = this.#limits;
    const startedMs = clock.monotonicMs();
    try {
      return await access.resolveKey({ secretSha256: sha256 }, { deadlineMs: resolveMs });
    } catch (thrown) {
      const spentMs = clock.monotonicMs() - startedMs + retryDelayMs;
      if (!isTransient(asAppError(thrown)) || spentMs >= budgetMs) throw cannotTell(thrown);
      await clock.sleep(retryDelayMs);
      const deadlineMs = Math.min(resolveMs, budgetMs - spentMs);
      return await access.resolveKey({ secretSha256: sha256 }, { deadlineMs }).catch((again: unknown) => {
        throw cannotTell(again);
      });
    }
  }

  #keep(hash: string, caller: Caller | undefined): void {
    this.#unknownUntilMs.delete(hash);
    if (caller) {
      // Kept only while somebody listens to changes for it.
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

// Fails closed: a key that cannot be checked is not let in.
function cannotTell(cause: unknown): AppError {
  return new AppError("UNAVAILABLE", "The API key cannot be checked right now. Try again shortly.", { retryAfterSeconds: 1, cause });
}
