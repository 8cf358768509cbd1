import type { Clock } from "../../../common/clock.ts";
import type { SimTime } from "./sim-time.ts";

const STARTED_AT = 1_760_000_000_000;

/** Thrown in a process at the moment it dies; nothing that catches it can tell anybody. */
export class Died extends Error {}

/**
 * One life of a process. Whatever comes from outside (time, answers, clients) comes through `enter`: a stopped process gets it when it
 * goes on, a dead one never.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  alive = true;
  readonly #time: SimTime;
  readonly #onPoint: (point: string) => "die" | "go on";
  #held: (() => void)[] | undefined;

  constructor(name: string, options: { time: SimTime; wallOffsetMs?: number; onPoint: (point: string) => "die" | "go on" }) {
    const { time, wallOffsetMs = 0, onPoint } = options;
    this.name = name;
    this.#time = time;
    this.#onPoint = onPoint;
    const after = (milliseconds: number, wake: () => void) => time.after(milliseconds, () => this.enter(wake));
    this.clock = {
      now: () => STARTED_AT + time.nowMs + wallOffsetMs,
      monotonicMs: () => time.nowMs,
      sleep: (milliseconds) => new Promise((resolve) => void after(milliseconds, resolve)),
      after,
    };
  }

  get isStopped(): boolean {
    return this.#held !== undefined;
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
