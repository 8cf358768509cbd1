import type { Clock } from "../../../common/clock.ts";

export interface WatchdogLimits {
  /** Until the first part of an answer. */
  readonly firstTokenMs: number;
  readonly betweenTokensMs: number;
  readonly totalMs: number;
}

/**
 * Aborts an attempt at a timeout: until the first part, between two parts, or in total. One timer at a time, set again only when it fires:
 * a part that arrives stores a number and sets no timer.
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
    this.#cancel = clock.after(Math.min(limits.firstTokenMs, limits.totalMs), () => this.#look());
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

  #look(): void {
    const { firstTokenMs, totalMs } = this.#limits;
    const leftMs = this.#holds > 0 ? Math.min(firstTokenMs, totalMs) : this.#deadlineMs() - this.#clock.monotonicMs();
    if (leftMs > 0) {
      this.#cancel = this.#clock.after(leftMs, () => this.#look());
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
