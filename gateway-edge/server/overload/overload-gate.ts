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
}

/** The gate of an edge process. */
export function createOverloadGate({ config, ...sources }: EdgeDeps, { unsettled }: { unsettled(): number }): OverloadGate {
  return new OverloadGate({ ...sources, turnMsMax: config.overloadTurnMs, unsettled, afterTurn: (wake) => void setImmediate(wake) });
}

/** Figures of the gate, for metrics. */
export interface OverloadFigures {
  readonly refused: number;
  readonly isOverloaded: boolean;
}

const SAMPLE_MS = 50;
/** A burst that is over within this time is served and not refused. */
const TOLERATED_MS = 500;
/** In overload a turn accepts calls for this part of the longest turn, and for the second part more after each turn that was short. */
const BUDGET_SHARE = 0.2;
const BUDGET_GROWTH = 0.05;
/** After so many short turns the overload is over. The last of them accepted calls for more than the longest turn, which a flood uses up. */
const CALM_SAMPLES = 20;
/** What a turn that is too long takes back of them. */
const STRAINED_SAMPLES = 5;
/** From this number of unsettled calls on a growing part of the calls is refused, at the second number all. */
const UNSETTLED_SOFT = 20_000;
const UNSETTLED_MAX = 45_000;

/**
 * Refuses calls that the edge has no capacity for, before anything of them is read but their headers. The edge is overloaded when every turn
 * of its event loop took longer than `turnMsMax` for half a second, or when settlement falls behind. Then each turn accepts calls only in its
 * first milliseconds, which become more while turns are short: so the overload ends at a load that the edge can serve. Keys that have made few
 * calls are accepted longer, so that the flood of one key is mostly refused to that key. While there is no overload a call costs two comparisons.
 */
export class OverloadGate {
  readonly #deps: OverloadDeps;
  readonly #shares: KeyShares;
  #isSampling = false;
  #hasArrival = false;
  #isOverloaded = false;
  #strainedSinceMs: number | undefined;
  /** Short turns of this overload, less what long ones took back. */
  #calmSamples = 0;
  #turnBeganMs: number | undefined;
  /** The part of calls that may pass, by the number of unsettled calls. */
  #passShare = 1;
  #passed = 0;
  #refused = 0;

  constructor(deps: OverloadDeps) {
    this.#deps = deps;
    this.#shares = new KeyShares(deps);
  }

  /** Whether a call must be refused. */
  refuses(arrival: Arrival): boolean {
    if (this.#deps.turnMsMax === 0) return false;
    this.#hasArrival = true;
    if (!this.#isSampling) this.#sampleLater();
    if (!this.#isOverloaded) return false;
    const nowMs = this.#deps.clock.monotonicMs();
    const slot = this.#shares.arrived(arrival, nowMs);
    const elapsedMs = this.#elapsedOfTurn(nowMs);
    const isWithinBudget = elapsedMs < this.#budgetMs();
    const hasRoom = isWithinBudget || (elapsedMs < this.#deps.turnMsMax && this.#shares.isLight(slot, nowMs));
    if (hasRoom && this.#passes()) {
      this.#shares.accepted(slot, { isWithinBudget });
      return false;
    }
    this.#refused++;
    return true;
  }

  figures(): OverloadFigures {
    return { refused: this.#refused, isOverloaded: this.#isOverloaded };
  }

  #elapsedOfTurn(nowMs: number): number {
    if (this.#turnBeganMs === undefined) {
      this.#turnBeganMs = nowMs;
      this.#deps.afterTurn(() => {
        this.#turnBeganMs = undefined;
      });
    }
    return nowMs - this.#turnBeganMs;
  }

  /** True for `#passShare` of its calls. */
  #passes(): boolean {
    this.#passed += this.#passShare;
    if (this.#passed < 1) return false;
    this.#passed -= 1;
    return true;
  }

  #budgetMs(): number {
    return this.#deps.turnMsMax * (BUDGET_SHARE + BUDGET_GROWTH * this.#calmSamples);
  }

  /** Only while calls arrive: an idle edge has no timer for this. */
  #sampleLater(): void {
    this.#isSampling = true;
    this.#hasArrival = false;
    this.#deps.clock.after(SAMPLE_MS, () => {
      const beganMs = this.#deps.clock.monotonicMs();
      this.#deps.afterTurn(() => this.#take(beganMs, this.#deps.clock.monotonicMs()));
    });
  }

  #take(beganMs: number, nowMs: number): void {
    const unsettled = this.#deps.unsettled();
    this.#passShare = Math.min(1, Math.max(0, (UNSETTLED_MAX - unsettled) / (UNSETTLED_MAX - UNSETTLED_SOFT)));
    const turnMs = nowMs - beganMs;
    if (turnMs > this.#deps.turnMsMax || unsettled > UNSETTLED_SOFT) {
      this.#strainedSinceMs ??= nowMs;
      this.#calmSamples = Math.max(0, this.#calmSamples - STRAINED_SAMPLES);
      if (!this.#isOverloaded && nowMs - this.#strainedSinceMs >= TOLERATED_MS) this.#begin(nowMs, { turnMs, unsettled });
    } else {
      this.#strainedSinceMs = undefined;
      if (this.#isOverloaded && ++this.#calmSamples >= CALM_SAMPLES) this.#end();
    }
    if (this.#hasArrival || this.#isOverloaded) this.#sampleLater();
    else this.#stopSampling();
  }

  /** What comes after a time without samples is another strain. */
  #stopSampling(): void {
    this.#isSampling = false;
    this.#strainedSinceMs = undefined;
  }

  #begin(nowMs: number, { turnMs, unsettled }: { turnMs: number; unsettled: number }): void {
    this.#isOverloaded = true;
    this.#calmSamples = 0;
    this.#shares.clear(nowMs);
    this.#deps.logger.warn({ turnMs: Math.round(turnMs), unsettled }, "overloaded: calls above the capacity of this edge are refused");
  }

  #end(): void {
    this.#isOverloaded = false;
    this.#deps.logger.info({ refused: this.#refused }, "the overload is over");
  }
}
