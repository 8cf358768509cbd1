import { type Clock, systemClock } from "./clock.ts";

/** The outcome of one request. */
export type Outcome<Answer> = { answer: Answer } | { error: unknown };

interface Waiting<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** How batches are made. */
export interface GatherOptions {
  /** The requests of a batch, at most. */
  readonly most?: number;
  /** How many batches run at a time, at most. */
  readonly parallel?: number;
  /** A request that has waited this long begins another batch: the one under way may hang. */
  readonly lateMs?: number;
  readonly clock?: Pick<Clock, "after">;
}

/**
 * Batches requests: those that arrive while a batch is under way are answered together by the next one. A single request does not wait; many
 * at once cost a fraction of a batch each. An error of the whole batch is the outcome of each of its requests.
 */
export function gather<Request, Answer>(
  answerAll: (requests: Request[]) => Promise<readonly Outcome<Answer>[]>,
  { most = 200, parallel = 1, lateMs = 0, clock = systemClock }: GatherOptions = {},
): (request: Request) => Promise<Answer> {
  let waiting: Waiting<Request, Answer>[] = [];
  let running = 0;
  let isTimed = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most);
      waiting = waiting.slice(most);
      await answerBatch(batch, answerAll);
    }
    running--;
  }

  function begin(): void {
    running++;
    // At the end of this turn of the event loop, so that requests that arrive together share one batch.
    setImmediate(() => void run());
  }

  function beginLate(): void {
    isTimed = false;
    if (waiting.length > 0 && running < parallel) begin();
  }

  return (request) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      if (running === 0) return begin();
      if (running >= parallel || isTimed) return;
      isTimed = true;
      clock.after(lateMs, beginLate);
    });
}

async function answerBatch<Request, Answer>(
  batch: readonly Waiting<Request, Answer>[],
  answerAll: (requests: Request[]) => Promise<readonly Outcome<Answer>[]>,
): Promise<void> {
  try {
    const outcomes = await answerAll(batch.map(({ request }) => request));
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index];
      if (outcome && "answer" in outcome) resolve(outcome.answer);
      else reject(outcome?.error ?? new Error("a batch has no outcome for one of its requests"));
    });
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
