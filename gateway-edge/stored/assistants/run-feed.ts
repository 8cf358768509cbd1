/** An event of a run's stream, under OpenAI's names: `thread.run.created`, `thread.message.delta`, ... */
export interface RunEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Delivers the events of runs to their followers on this edge. A run continues without followers. */
export interface RunFeed {
  /** Events from now on; ends when this edge has no more events, or when the reader stops. */
  follow(runId: string): AsyncIterableIterator<RunEvent>;
  publish(runId: string, event: string, data: unknown): void;
  /** Ends the streams: the run has ended, waits for its caller, or is claimed by another edge. */
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
    publish(runId, event, data) {
      for (const follower of all(runId)) follower.push({ event, data });
    },
    end(runId) {
      for (const follower of all(runId)) follower.end();
    },
  };
}

/** A queue of unread events. The length of the model's answers bounds it. */
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
