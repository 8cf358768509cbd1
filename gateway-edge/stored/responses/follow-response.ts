import { type Clock, pause } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { endOf, frameOf } from "../../calls/dialects/responses/frames.ts";
import { shownResponse } from "../../calls/dialects/responses/response.ts";
import { asFields } from "../../upstream/providers/shared/json-fields.ts";
import type { RecordStore } from "../records/records.ts";
import type { EventsBody } from "./response-events.ts";
import type { ResponseFeed } from "./response-feed.ts";
import type { StoredResponse } from "./stored-responses.ts";

export interface FollowDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly feed: ResponseFeed;
}

export interface Follower {
  readonly caller: Caller;
  readonly id: string;
  /** The number of the last event that the reader has; -1: none. */
  readonly after: number;
  readonly include: readonly string[];
  readonly signal: AbortSignal;
}

const POLL_MS = 500;
const PAGE = 100;

/** Refuses a response that has no events. */
export function requireEvents({ work, events }: StoredResponse): void {
  if (events || work?.asked.stream === true) return;
  const message = "Only a response that was created with background=true and stream=true can be streamed.";
  throw new AppError("INVALID_REQUEST", message, { param: "stream" });
}

/** The frames of a background response after an event, from any edge; ends with the response, or when the signal aborts. */
export async function* followResponse(deps: FollowDeps, { caller, id, after, include, signal }: Follower): AsyncGenerator<string> {
  let cursor: string | undefined;
  for (;;) {
    // Before anything is read, so that no change is missed.
    const woken = new AbortController();
    const stop = deps.feed.on(id, () => woken.abort());
    try {
      // The response is read before its events: if it has ended, its events are complete.
      const record = await deps.records.get<StoredResponse>(caller.teamId, "response", id);
      cursor = yield* framesFrom(deps, { caller, id, after, cursor });
      if (!record || record.body.response["status"] === "cancelled") return;
      if (!record.body.work) return yield* ending(record.body, { after, include });
      await pause(deps.clock, POLL_MS, AbortSignal.any([woken.signal, signal]));
      if (signal.aborted) return;
    } finally {
      stop();
    }
  }
}

/** The stored frames behind a record of events; returns the last record. */
async function* framesFrom(
  { records }: FollowDeps,
  { caller, id, after, cursor }: Pick<Follower, "caller" | "id" | "after"> & { cursor: string | undefined },
): AsyncGenerator<string, string | undefined> {
  for (let last = cursor; ; ) {
    const scope = { parentId: id, order: "asc", limit: PAGE, after: last } as const;
    const page = await records.list<EventsBody>(caller.teamId, "response_events", scope);
    for (const { body } of page.records) yield* body.events.filter(({ number }) => number > after).map(({ frame }) => frame);
    last = page.records.at(-1)?.id ?? last;
    if (!page.hasMore) return last;
  }
}

function* ending({ response, events }: StoredResponse, { after, include }: Pick<Follower, "after" | "include">): Generator<string> {
  if (!events || events.last <= after) return;
  const { usage, ...shown } = shownResponse(response, include);
  // A stream has no header for its cost.
  const cost = events.cost === undefined ? {} : { cost_nano: BigInt(events.cost) };
  yield frameOf({ ...endOf({ ...shown, usage: usage === null ? null : { ...asFields(usage), ...cost } }), sequence_number: events.last });
}
