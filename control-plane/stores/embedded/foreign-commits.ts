/** How often commits of other processes are looked for. */
const LOOK_MS = 1000;

/**
 * Notices commits of other processes by the number of the last commit. No other control plane may have the store, but the first steps of one that
 * is started by mistake, and tools, can write to it.
 */
export class ForeignCommits {
  readonly #lastCommit: () => number;
  readonly #found: () => void;
  readonly #timer: NodeJS.Timeout;
  #known: number;

  constructor(lastCommit: () => number, found: () => void) {
    this.#lastCommit = lastCommit;
    this.#found = found;
    this.#known = lastCommit();
    this.#timer = setInterval(() => this.#look(0), LOOK_MS).unref();
  }

  /** This process has committed. */
  committed(): void {
    this.#look(1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(own: number): void {
    const last = this.#lastCommit();
    if (last > this.#known + own) this.#found();
    this.#known = last;
  }
}
