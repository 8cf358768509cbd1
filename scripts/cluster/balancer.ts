import { setTimeout as sleep } from "node:timers/promises";

const CHECK_MS = 250;
const CHECK_MAX_MS = 1000;

/** What a load balancer in front of the edges does: asks each for its readiness, and sends calls only to those that are ready. */
export class Balancer {
  readonly urls: readonly string[];
  readonly #ready: boolean[];
  #next = 0;
  #isOver = false;
  readonly #checks: Promise<unknown>;

  constructor(urls: readonly string[]) {
    this.urls = urls;
    this.#ready = urls.map(() => true);
    this.#checks = Promise.all(urls.map((url, index) => this.#watch(url, index)));
  }

  /** The next ready edge in turn; any edge if none is. */
  pick(): number {
    for (let tries = 0; tries < this.urls.length; tries++) {
      const index = this.#next++ % this.urls.length;
      if (this.#ready[index]) return index;
    }
    return this.#next++ % this.urls.length;
  }

  urlOf(index: number): string {
    return this.urls[index] ?? "";
  }

  /** A connection was refused: no calls until the next check. */
  refused(index: number): void {
    this.#ready[index] = false;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#checks;
  }

  async #watch(url: string, index: number): Promise<void> {
    while (!this.#isOver) {
      this.#ready[index] = await isReady(url);
      await sleep(CHECK_MS);
    }
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/health/readiness`, { signal: AbortSignal.timeout(CHECK_MAX_MS) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
