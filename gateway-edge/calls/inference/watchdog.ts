import type { Clock } from "../../../common/clock.ts";

export interface WatchdogLimits {
  /** Until the first part of an answer. */
  readonly firstTokenMs: number;
  readonly betweenTokensMs: number;
  readonly totalMs: number;
}

/**
 * Aborts an attempt at a timeout: until the first part, between two parts, or in total. One timer at a time, set again only when it fires:
 * a part that arrives stores a number and sets no timer, so that a silence may last up to twice its limit.
 */
export class Watchdog {
  readonly #clock: Clock;
  readonly #limits: WatchdogLimits;
  readonly #abort: () => void;
  #startedMs: number;
  #receivedMs: number | undefined;
  #cancel: () => void;
  #barked = false;
  #holds = 0;

  constructor(clock: Clock, limits: WatchdogLimits, abort: () => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#abort = abort;
    this.#startedMs = clock.monotonicMs();
    this.#cancel = clock.after(this.#shortestMs, () => this.#look());
  }

  get timedOut(): boolean {
    return this.#barked;
  }

  /** Pauses the timeouts until as many calls of `release`: the caller or the gateway has not finished its own part. */
  hold(): void {
    this.#holds++;
  }

  release(): void {
    this.#holds--;
    this.#startedMs = this.#clock.monotonicMs();
  }

  /** The upstream has sent something. */
  received(): void {
    this.#receivedMs = this.#clock.monotonicMs();
  }

  stop(): void {
    this.#cancel();
  }

  /** It looks so often at least: the part that comes first sets no timer for the one after it. */
  get #shortestMs(): number {
    const { firstTokenMs, betweenTokensMs, totalMs } = this.#limits;
    return Math.min(firstTokenMs, betweenTokensMs, totalMs);
  }

  #look(): void {
    const leftMs = this.#holds > 0 ? this.#shortestMs : this.#deadlineMs() - this.#clock.monotonicMs();
    if (leftMs > 0) {
      this.#cancel = this.#clock.after(Math.min(leftMs, this.#shortestMs), () => this.#look());
      return;
    }
    this.#barked = true;
    this.#abort();
  }

  #deadlineMs(): number {
    const waitMs =
      this.#receivedMs === undefined ? this.#startedMs + this.#limits.firstTokenMs : this.#receivedMs + this.#limits.betweenTokensMs;
    return Math.min(waitMs, this.#startedMs + this.#limits.totalMs);
  }
}
