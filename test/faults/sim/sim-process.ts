import type { CancelSignal } from "../../../common/cancel.ts";
import type { Clock } from "../../../common/clock.ts";
import { LIGHT, type SimTime } from "./sim-time.ts";

const POLL_MS = 250;
/** When the calls of the fixtures were made: a settlement looks for the entries of calls that are days old. */
const STARTED_AT = 1_700_000_000_000;

/** Thrown in a process at the moment it dies; nothing that catches it can tell anybody. */
export class Died extends Error {}

/**
 * One life of a process. Whatever comes from outside (time, answers, clients) comes through `enter`: a stopped process gets it when it
 * goes on, a dead one never.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  /** The same time, for loops of which nothing but promises follow. */
  readonly lightClock: Clock;
  /** The same for polls and heartbeats, which happen together. */
  readonly pollClock: Clock;
  alive = true;
  readonly #time: SimTime;
  readonly #onPoint: (point: string) => "die" | "go on";
  #held: (() => void)[] | undefined;

  constructor(name: string, options: { time: SimTime; wallOffsetMs?: number; onPoint: (point: string) => "die" | "go on" }) {
    const { time, wallOffsetMs = 0, onPoint } = options;
    this.name = name;
    this.#time = time;
    this.#onPoint = onPoint;
    this.clock = this.#clockOf(wallOffsetMs);
    this.lightClock = this.#clockOf(wallOffsetMs, { turns: LIGHT });
    this.pollClock = this.#clockOf(wallOffsetMs, { turns: LIGHT, stepMs: POLL_MS });
  }

  #clockOf(wallOffsetMs: number, { turns, stepMs = 0 }: { turns?: number; stepMs?: number } = {}): Clock {
    const time = this.#time;
    const laterMs = (milliseconds: number) => Math.ceil((time.nowMs + milliseconds) / stepMs) * stepMs - time.nowMs;
    const after = (milliseconds: number, wake: () => void) =>
      time.after(milliseconds < stepMs || stepMs === 0 ? milliseconds : laterMs(milliseconds), () => this.enter(wake), turns);
    return {
      now: () => STARTED_AT + time.nowMs + wallOffsetMs,
      monotonicMs: () => time.nowMs,
      sleep: (milliseconds, signal) => sleepUntil((wake) => after(milliseconds, wake), signal),
      after,
    };
  }

  get isStopped(): boolean {
    return this.#held !== undefined;
  }

  /** Resolves at once unless it is stopped, else when it goes on. */
  async resumed(): Promise<void> {
    if (this.isStopped) await this.clock.sleep(0);
  }

  enter(work: () => void): void {
    if (!this.alive) return;
    if (this.#held) return void this.#held.push(work);
    try {
      work();
    } catch (thrown) {
      if (!(thrown instanceof Died)) throw thrown;
    }
  }

  /** A place in the code where it may die. */
  passes(point: string): void {
    if (!this.alive || this.#onPoint(point) === "die") throw new Died(this.name);
  }

  /** SIGSTOP. */
  stop(): void {
    this.#held ??= [];
  }

  /** SIGCONT. */
  goOn(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    // One after the other, as an event loop would.
    for (const work of held) this.#time.after(0, () => this.enter(work));
  }
}

function sleepUntil(start: (wake: () => void) => () => void, signal: CancelSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = start(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    });
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
