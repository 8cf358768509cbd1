import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Random } from "../../../common/random.ts";
import type { EdgeDeps } from "../../deps.ts";
import { type Arrival, KeyShares } from "./key-shares.ts";

/** What an edge measures of itself, and what it does with the result. */
export interface OverloadDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** OVERLOAD_TURN_MS; 0: no call is refused. */
  readonly turnMsMax: number;
  /** Finished calls that the ledger does not have yet. */
  unsettled(): number;
  /** Calls back when the event loop has processed all input of this turn. */
  afterTurn(wake: () => void): void;
  /** CPU time of this thread so far. */
  cpuMs(): number;
  /** How long the event loop has waited for input so far. */
  idleMs(): number;
}

/** The gate of an edge process. */
export function createOverloadGate({ config, ...sources }: EdgeDeps, { unsettled }: { unsettled(): number }): OverloadGate {
  return new OverloadGate({
    ...sources,
    turnMsMax: config.overloadTurnMs,
    unsettled,
    afterTurn: (wake) => void setImmediate(wake),
    cpuMs: () => {
      const { user, system } = process.threadCpuUsage();
      return (user + system) / 1000;
    },
    idleMs: () => performance.eventLoopUtilization().idle,
  });
}

/** Figures of the gate, for metrics. */
export interface OverloadFigures {
  readonly refused: number;
  readonly isOverloaded: boolean;
}

const SAMPLE_MS = 50;
/** A burst that is over within this time is served and not refused. */
const TOLERATED_MS = 500;
/** A long turn is the edge's own load if it used the processor for this part of the longest turn, or if so many calls arrived in it. */
const OWN_CPU_SHARE = 0.5;
const OWN_ARRIVALS = 128;
/** With fewer calls since the first long turn there is nothing to refuse. */
const STRAIN_ARRIVALS = 32;
/** In overload, turns are to take this part of the longest turn: a refusal waits for the turn before it. */
const TARGET_SHARE = 0.15;
/** For so long of it a turn accepts calls, at first and at least. */
const BUDGET_SHARE = 0.1;
const BUDGET_SHARE_MIN = 0.03;
/** What a turn changes of that: more if calls were refused and the turn was short, less if it was long. */
const BUDGET_GROWTH = 0.0075;
const BUDGET_CUT_MOST = 0.5;
/** So often it is asked whether the overload is over: no call was refused, or the event loop was idle for this part of the time. */
const REVIEW_MS = 1000;
const IDLE_SHARE = 0.1;
/** Refused callers are told to wait so long that about this number of them returns in a second: refusals take time from the calls that are served. */
const RETURNS_PER_SECOND = 400;
/** On average at most; for the keys that make few calls, and while there are not many refusals, a second. */
const RETRY_SECONDS_MAX = 8;
/** From this number of unsettled calls on a growing part of the calls is refused, at the second number all. */
const UNSETTLED_SOFT = 20_000;
const UNSETTLED_MAX = 45_000;

/** A turn of the event loop in which calls arrived. */
interface Turn {
  readonly beganMs: number;
  readonly beganCpuMs: number;
  /** Whether it has accepted calls for as long as it may. */
  isFull: boolean;
}

/**
 * Refuses calls that the edge has no capacity for, before anything of them is read but their headers. The edge is overloaded when every turn
 * of its event loop took longer than `turnMsMax` for half a second by work of its own, or when settlement falls behind. Where other processes use
 * its core, turns are long without such work, and refusals would not shorten them. In overload each turn accepts calls only in its first
 * milliseconds of CPU, as many as keep turns short, so the edge stays busy and answers refusals soon. Keys that have made few calls are accepted
 * longer, so that the flood of one key is mostly refused to that key. While there is no overload a call costs a comparison and two counters.
 */
export class OverloadGate {
  readonly #deps: OverloadDeps;
  readonly #shares: KeyShares;
  #isSampling = false;
  /** Calls since the last sample was begun. */
  #arrivals = 0;
  #isOverloaded = false;
  #strain: { readonly sinceMs: number; arrivals: number } | undefined;
  #turn: Turn | undefined;
  /** CPU time for which a turn accepts calls. */
  #budgetMs = 0;
  /** CPU time at the end of the last turn with calls: a turn also takes what it did before its first call. */
  #lastEndCpuMs = 0;
  #retrySeconds = 1;
  #review = { atMs: 0, idleMs: 0, refused: 0 };
  /** The part of calls that may pass, by the number of unsettled calls. */
  #passShare = 1;
  #passed = 0;
  #refused = 0;

  constructor(deps: OverloadDeps) {
    this.#deps = deps;
    this.#shares = new KeyShares(deps);
  }

  /** After how many seconds a refused caller may try again; undefined: the call is accepted. */
  refusal(arrival: Arrival): number | undefined {
    if (this.#deps.turnMsMax === 0) return undefined;
    this.#arrivals++;
    if (!this.#isSampling) this.#sampleLater();
    if (!this.#isOverloaded) return undefined;
    const nowMs = this.#deps.clock.monotonicMs();
    const slot = this.#shares.arrived(arrival, nowMs);
    this.#turn ??= this.#beginTurn(nowMs);
    const isWithinBudget = this.#hasBudget(this.#turn, nowMs);
    const hasRoom = isWithinBudget || (nowMs - this.#turn.beganMs < this.#deps.turnMsMax && this.#shares.isLight(slot, nowMs));
    if (hasRoom && this.#passes()) {
      this.#shares.accepted(slot, { isWithinBudget });
      return undefined;
    }
    this.#refused++;
    // The flood of one key does not make others wait longer.
    if (this.#shares.hasLittle(slot, nowMs)) return 1;
    // In turn every number whose average is `#retrySeconds`, so that callers that are refused together do not return together.
    return 1 + (this.#refused % (2 * this.#retrySeconds - 1));
  }

  figures(): OverloadFigures {
    return { refused: this.#refused, isOverloaded: this.#isOverloaded };
  }

  #beginTurn(beganMs: number): Turn {
    const turn = { beganMs, beganCpuMs: this.#deps.cpuMs(), isFull: false };
    this.#deps.afterTurn(() => {
      this.#turn = undefined;
      this.#adaptBudget(turn);
    });
    return turn;
  }

  /** CPU time is read only when the time of the clock, which is never less, is used up. */
  #hasBudget(turn: Turn, nowMs: number): boolean {
    if (!turn.isFull && nowMs - turn.beganMs >= this.#budgetMs) {
      turn.isFull = this.#deps.cpuMs() - turn.beganCpuMs >= this.#budgetMs;
    }
    return !turn.isFull;
  }

  #adaptBudget({ isFull }: Turn): void {
    const { turnMsMax } = this.#deps;
    const endCpuMs = this.#deps.cpuMs();
    const [usedMs, targetMs] = [endCpuMs - this.#lastEndCpuMs, turnMsMax * TARGET_SHARE];
    this.#lastEndCpuMs = endCpuMs;
    if (usedMs > targetMs) this.#budgetMs *= Math.max(BUDGET_CUT_MOST, targetMs / usedMs);
    else if (isFull) this.#budgetMs += turnMsMax * BUDGET_GROWTH;
    this.#budgetMs = Math.min(targetMs, Math.max(turnMsMax * BUDGET_SHARE_MIN, this.#budgetMs));
  }

  /** True for `#passShare` of its calls. */
  #passes(): boolean {
    this.#passed += this.#passShare;
    if (this.#passed < 1) return false;
    this.#passed -= 1;
    return true;
  }

  /** Only while calls arrive: an idle edge has no timer for this. */
  #sampleLater(): void {
    this.#isSampling = true;
    this.#arrivals = 0;
    this.#deps.clock.after(SAMPLE_MS, () => {
      const [beganMs, beganCpuMs, arrivals] = [this.#deps.clock.monotonicMs(), this.#deps.cpuMs(), this.#arrivals];
      this.#deps.afterTurn(() => this.#take({ beganMs, beganCpuMs, arrivals }));
    });
  }

  /** `arrivals`: as many had arrived when the turn began. */
  #take({ beganMs, beganCpuMs, arrivals }: { beganMs: number; beganCpuMs: number; arrivals: number }): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const unsettled = this.#deps.unsettled();
    this.#passShare = Math.min(1, Math.max(0, (UNSETTLED_MAX - unsettled) / (UNSETTLED_MAX - UNSETTLED_SOFT)));
    const turnMs = nowMs - beganMs;
    const isOwnLoad = this.#arrivals - arrivals >= OWN_ARRIVALS || this.#deps.cpuMs() - beganCpuMs >= this.#deps.turnMsMax * OWN_CPU_SHARE;
    const isBehind = unsettled > UNSETTLED_SOFT;
    if (this.#isOverloaded) this.#endIfOver(nowMs, isBehind);
    else if ((turnMs > this.#deps.turnMsMax && isOwnLoad) || isBehind) {
      this.#strain ??= { sinceMs: nowMs, arrivals: 0 };
      this.#strain.arrivals += this.#arrivals;
      const isEnough = isBehind || this.#strain.arrivals >= STRAIN_ARRIVALS;
      if (isEnough && nowMs - this.#strain.sinceMs >= TOLERATED_MS) this.#begin(nowMs, { turnMs, unsettled });
    } else this.#strain = undefined;
    if (this.#arrivals > 0 || this.#isOverloaded) this.#sampleLater();
    else this.#stopSampling();
  }

  /** What comes after a time without samples is another strain. */
  #stopSampling(): void {
    this.#isSampling = false;
    this.#strain = undefined;
  }

  #begin(nowMs: number, { turnMs, unsettled }: { turnMs: number; unsettled: number }): void {
    this.#isOverloaded = true;
    this.#strain = undefined;
    this.#budgetMs = this.#deps.turnMsMax * BUDGET_SHARE;
    this.#lastEndCpuMs = this.#deps.cpuMs();
    this.#shares.clear(nowMs);
    this.#reviewLater(nowMs);
    this.#deps.logger.warn({ turnMs: Math.round(turnMs), unsettled }, "overloaded: calls above the capacity of this edge are refused");
  }

  #endIfOver(nowMs: number, isBehind: boolean): void {
    const { atMs, idleMs, refused } = this.#review;
    if (nowMs < atMs + REVIEW_MS) return;
    this.#adaptRetry(((this.#refused - refused) / (nowMs - atMs)) * 1000);
    const isIdle = this.#deps.idleMs() - idleMs >= (nowMs - atMs) * IDLE_SHARE;
    this.#reviewLater(nowMs);
    if (isBehind || (!isIdle && this.#refused > refused)) return;
    this.#isOverloaded = false;
    this.#retrySeconds = 1;
    this.#deps.logger.info({ refused: this.#refused }, "the overload is over");
  }

  /** As many callers wait as were refused in the time that they wait. */
  #adaptRetry(refusedPerSecond: number): void {
    const waiting = refusedPerSecond * this.#retrySeconds;
    this.#retrySeconds = Math.min(RETRY_SECONDS_MAX, Math.max(1, Math.ceil(waiting / RETURNS_PER_SECOND)));
  }

  #reviewLater(nowMs: number): void {
    this.#review = { atMs: nowMs, idleMs: this.#deps.idleMs(), refused: this.#refused };
  }
}
