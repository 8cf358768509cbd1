import { type Clock, pause } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { endOf, frameOf } from "../../calls/dialects/responses/frames.ts";
import { shownResponse } from "../../calls/dialects/responses/response.ts";
import { asFields } from "../../upstream/providers/shared/json-fields.ts";
import type { RecordStore } from "../records/records.ts";
import { type EventsBody, PASSING } from "./response-events.ts";
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
const READ_MS = 2000;
const PAGE = 100;

export function hasEvents({ work, events }: StoredResponse): boolean {
  return events !== undefined || work?.asked.stream === true;
}

/** Refuses a response that has no events. */
export function requireEvents(stored: StoredResponse): void {
  if (hasEvents(stored)) return;
  const message = "Only a response that was created with background=true and stream=true can be streamed.";
  throw new AppError("INVALID_REQUEST", message, { param: "stream" });
}

interface Place {
  /** The last record of events that was read. */
  cursor: string | undefined;
  /** The number of the last event that the reader has. */
  after: number;
  /** When the response is read next. It is large, so new events alone are no reason to read it. */
  readAtMs: number;
}

/** The frames of a background response after an event, from any edge; ends with the response, or when the signal aborts. */
export async function* followResponse(deps: FollowDeps, follower: Follower): AsyncGenerator<string> {
  const { id, after, signal } = follower;
  const place: Place = { cursor: undefined, after, readAtMs: 0 };
  for (;;) {
    // Before anything is read, so that no change is missed.
    const woken = new AbortController();
    const stop = deps.feed.on(id, (change) => {
      if (change === "state") place.readAtMs = 0;
      woken.abort();
    });
    try {
      if (yield* newFrames(deps, follower, place)) return;
      await pause(deps.clock, POLL_MS, AbortSignal.any([woken.signal, signal]));
    } catch (thrown) {
      if (!PASSING.has(asAppError(thrown).code)) throw thrown;
      place.readAtMs = 0;
      await pause(deps.clock, POLL_MS, signal);
    } finally {
      stop();
    }
    if (signal.aborted) return;
  }
}

/** The frames since the last time; returns whether they are the last ones. */
async function* newFrames(deps: FollowDeps, follower: Follower, place: Place): AsyncGenerator<string, boolean> {
  const { caller, id, include } = follower;
  if (deps.clock.now() < place.readAtMs) {
    yield* framesFrom(deps, follower, place);
    return false;
  }
  place.readAtMs = deps.clock.now() + READ_MS;
  // The response is read before its events: if it has ended, its events are complete.
  const record = await deps.records.get<StoredResponse>(caller.teamId, "response", id);
  if (!record) return true;
  yield* framesFrom(deps, follower, place);
  if (record.body.response["status"] === "cancelled") return true;
  if (record.body.work) return false;
  yield* ending(record.body, { after: place.after, include });
  return true;
}

/** The stored frames from a place on. */
async function* framesFrom({ records }: FollowDeps, { caller, id }: Follower, place: Place): AsyncGenerator<string> {
  for (;;) {
    const page = await pageAfter(records, { teamId: caller.teamId, id }, place);
    for (const record of page.records) {
      for (const { number, frame } of record.body.events) {
        if (number <= place.after) continue;
        place.after = number;
        yield frame;
      }
      place.cursor = record.id;
    }
    if (!page.hasMore) return;
  }
}

async function pageAfter(records: RecordStore, { teamId, id }: { teamId: string; id: string }, place: Place) {
  try {
    return await records.list<EventsBody>(teamId, "response_events", { parentId: id, order: "asc", limit: PAGE, after: place.cursor });
  } catch (thrown) {
    if (place.cursor === undefined || asAppError(thrown).code !== "INVALID_REQUEST") throw thrown;
    // The record of the cursor was removed, with the response or because it expired: the numbers show what the reader has.
    place.cursor = undefined;
    place.readAtMs = 0;
    return { records: [], hasMore: false };
  }
}

function* ending({ response, events }: StoredResponse, { after, include }: Pick<Follower, "after" | "include">): Generator<string> {
  if (!events || events.last <= after) return;
  const { usage, ...shown } = shownResponse(response, include);
  // A stream has no header for its cost.
  const cost = events.cost === undefined ? {} : { cost_nano: BigInt(events.cost) };
  yield frameOf({ ...endOf({ ...shown, usage: usage === null ? null : { ...asFields(usage), ...cost } }), sequence_number: events.last });
}
