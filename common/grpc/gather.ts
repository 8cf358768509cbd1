import { asAppError } from "../errors.ts";
import { type GatherOptions, gather, type Outcome } from "../gather.ts";
import type { CallOptions } from "./client.ts";

/** Batches requests of single calls into RPCs. A batch has the least of its requests' deadlines. */
export function gatherCalls<Request, Answer>(
  send: (requests: Request[], options: CallOptions) => Promise<readonly Outcome<Answer>[]>,
  gathering?: GatherOptions,
): (request: Request, options: CallOptions) => Promise<Answer> {
  const ask = gather((calls: { request: Request; options: CallOptions }[]) => {
    const deadlineMs = Math.min(...calls.map(({ options }) => options.deadlineMs));
    return send(
      calls.map(({ request }) => request),
      { deadlineMs },
    ).catch((thrown: unknown) => {
      throw asAppError(thrown);
    });
  }, gathering);
  return (request, options) => ask({ request, options });
}
