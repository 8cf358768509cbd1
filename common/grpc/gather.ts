import { AppError, asAppError } from "../errors.ts";
import type { CallOptions } from "./client.ts";

const GATHERED_MAX = 200;

/** The outcome of one request. An error of the whole batch is the outcome of each of its requests. */
export type Outcome<Answer> = { answer: Answer } | { error: AppError };

/**
 * Batches requests of single calls: those that arrive while an RPC is running are sent together in the next one. A single request does not
 * wait; many at once cost a fraction of an RPC each.
 */
export function gather<Request, Answer>(
  send: (requests: Request[], options: CallOptions) => Promise<Outcome<Answer>[]>,
): (request: Request, options: CallOptions) => Promise<Answer> {
  let waiting: { request: Request; options: CallOptions; resolve(answer: Answer): void; reject(error: unknown): void }[] = [];
  let sending = false;

  async function sendAll(): Promise<void> {
    sending = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, GATHERED_MAX);
      waiting = waiting.slice(GATHERED_MAX);
      const deadlineMs = Math.min(...batch.map(({ options }) => options.deadlineMs));
      const requests = batch.map(({ request }) => request);
      const outcomes = await send(requests, { deadlineMs }).catch((thrown: unknown) => asAppError(thrown));
      batch.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes instanceof AppError ? { error: outcomes } : outcomes[index];
        if (outcome && "answer" in outcome) resolve(outcome.answer);
        else reject(outcome?.error);
      });
    }
    sending = false;
  }

  return (request, options) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, options, resolve, reject });
      // Sent at the end of this turn of the event loop, so that calls that arrive together share one RPC.
      if (!sending) {
        sending = true;
        setImmediate(() => void sendAll());
      }
    });
}
