/** What clients that follow a run are told, in OpenAI's names: `thread.run.created`, `thread.message.delta`, ... */
export interface RunEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Tells those who follow a run on this edge what happens to it. A run goes on whether somebody follows it or not. */
export interface RunFeed {
  /** Events from now on; ends when this edge has nothing more to tell, or when the reader stops. */
  follow(runId: string): AsyncIterableIterator<RunEvent>;
  tell(runId: string, event: string, data: unknown): void;
  /** This edge has done its part: the run has ended, waits for its caller, or is somebody else's. */
  end(runId: string): void;
}

export function createRunFeed(): RunFeed {
  const followers = new Map<string, Set<Follower>>();
  const all = (runId: string) => followers.get(runId) ?? [];
  return {
    follow(runId) {
      const follower = new Follower();
      followers.set(runId, new Set([...all(runId), follower]));
      return follower.read(() => {
        const others = new Set([...all(runId)].filter((other) => other !== follower));
        if (others.size > 0) followers.set(runId, others);
        else followers.delete(runId);
      });
    },
    tell(runId, event, data) {
      for (const follower of all(runId)) follower.push({ event, data });
    },
    end(runId) {
      for (const follower of all(runId)) follower.end();
    },
  };
}

/** Holds what its reader has not read; what a run says is bounded by what its model may say. */
class Follower {
  readonly #waiting: RunEvent[] = [];
  #ended = false;
  #wake: () => void = () => {};

  push(event: RunEvent): void {
    this.#waiting.push(event);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *read(onClose: () => void): AsyncGenerator<RunEvent, undefined> {
    try {
      for (;;) {
        for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) yield next;
        if (this.#ended) return undefined;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      onClose();
    }
  }
}
