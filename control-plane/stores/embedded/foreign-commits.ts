import { systemClock, untilBeatMs } from "../../../common/clock.ts";

/** How often commits of other processes are looked for. */
const LOOK_MS = 1000;

/**
 * Notices commits of other processes by the number of the last commit. No other control plane may have the store, but the first steps of one that
 * is started by mistake, and tools, can write to it.
 */
export class ForeignCommits {
  readonly #lastCommit: () => number;
  readonly #found: () => void;
  #timer: NodeJS.Timeout;
  #known: number;

  constructor(lastCommit: () => number, found: () => void) {
    this.#lastCommit = lastCommit;
    this.#found = found;
    this.#known = lastCommit();
    this.#timer = this.#lookLater();
  }

  /** This process has committed. */
  committed(): void {
    this.#look(1);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** When recurring jobs wake up, too. */
  #lookLater(): NodeJS.Timeout {
    return setTimeout(
      () => {
        this.#timer = this.#lookLater();
        this.#look(0);
      },
      untilBeatMs(systemClock, LOOK_MS),
    ).unref();
  }

  #look(own: number): void {
    const last = this.#lastCommit();
    if (last > this.#known + own) this.#found();
    this.#known = last;
  }
}
