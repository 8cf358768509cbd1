import { isDeepStrictEqual } from "node:util";
import { type Clock, pause } from "../../../common/clock.ts";
import { asAppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { NanoUsd } from "../../../common/money.ts";
import { frameOf } from "../../calls/dialects/responses/frames.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { ownerOf } from "../records/own-record.ts";
import type { Owner, RecordOf, RecordStore, RecordWrite } from "../records/records.ts";
import type { WorkLease } from "../records/work.ts";
import { mergedDelta } from "./merge-deltas.ts";
import type { ResponseFeed } from "./response-feed.ts";

export interface EventDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly feed: ResponseFeed;
}

/** A record below a streamed background response: some of its events, in order. */
export interface EventsBody {
  readonly events: readonly { readonly number: number; readonly frame: string }[];
}

/** What an ended response stores of its events: the last one repeats the response, so it is made from that when it is read. */
export interface EndedEvents {
  /** The number of the last event. */
  readonly last: number;
  /** Nano-USD; absent if nothing was billed. */
  readonly cost?: string;
}

const DATA = "data: ";
const FLUSH_MS = 250;
const PAUSE_MS = 500;
/** Far below the largest record. */
const CHARACTERS_MAX = 1024 * 1024;
/** A response is begun within an hour, and its events can be read for at least an hour more. Then its stream is its last event. */
const EVENTS_MS = 2 * 3_600_000;
const REMOVED_PAGE = 50;
/** Codes of a control plane that is unavailable or overloaded. */
export const PASSING: ReadonlySet<string> = new Set(["UNAVAILABLE", "DB_TIMEOUT"]);
/** The response was deleted, or another edge has claimed it. */
const NOT_HELD: ReadonlySet<string> = new Set(["RECORD_CHANGED", "NOT_FOUND"]);

/** Continues the events of a response after those that an edge before this one stored. */
export async function openEventLog(deps: EventDeps, record: RecordOf<unknown>, lease: Lease): Promise<EventLog> {
  const { records } = await deps.records.list<EventsBody>(record.teamId, "response_events", {
    parentId: record.id,
    order: "desc",
    limit: 1,
  });
  const last = records[0]?.body.events.at(-1)?.number;
  return new EventLog(deps, record, { lease, next: last === undefined ? 0 : last + 1 });
}

/** Removes the events of a response in pages, because together they may be too large for one commit. */
export async function removeEvents({ records }: Pick<EventDeps, "records">, owner: Owner, parentId: string): Promise<void> {
  for (;;) {
    const page = await records.list(owner.teamId, "response_events", { parentId, order: "asc", limit: REMOVED_PAGE });
    if (page.records.length === 0) return;
    try {
      await records.commit(
        owner,
        page.records.map(({ id }) => ({ type: "remove", kind: "response_events", id })),
      );
    } catch (thrown) {
      // Another request removes them too.
      if (asAppError(thrown).code !== "NOT_FOUND") throw thrown;
    }
  }
}

type Lease = Pick<WorkLease, "claim" | "signal">;

/** Writes the events of a streamed background response. They are stored before a reader gets them: every reader can resume after any event. */
export class EventLog {
  /** Whether an edge before this one stored events. Their text cannot be continued, so only the end follows. */
  readonly isResumed: boolean;
  readonly #deps: EventDeps;
  readonly #record: RecordOf<unknown>;
  readonly #claim: string;
  readonly #signal: AbortSignal;
  readonly #pending: { number: number; event: Fields }[] = [];
  readonly #ending = new AbortController();
  #next: number;
  /** How many pending events a commit has, whose outcome may be unknown: they stay as they are. */
  #sent = 0;
  #cost: NanoUsd | undefined;
  #flushing: Promise<void> | undefined;
  #isLost = false;
  #isUnguarded = false;

  constructor(deps: EventDeps, record: RecordOf<unknown>, { lease, next }: { lease: Lease; next: number }) {
    this.#deps = deps;
    this.#record = record;
    this.#claim = lease.claim;
    this.#signal = lease.signal;
    this.#next = next;
    this.isResumed = next > 0;
  }

  /** The first events, as soon as the work begins: a client needs the id to resume. */
  begin(queued: Fields): void {
    if (this.isResumed) return;
    for (const type of ["response.created", "response.queued"]) this.#put({ type, response: queued });
    this.#schedule(0);
  }

  /** Adds frames of the model's answer under the numbers of this stream. */
  add(frames: string): void {
    for (const event of eventsOf(frames)) if (event["type"] !== "response.created") this.#put(event);
    this.#schedule(FLUSH_MS);
  }

  /** Adds all but the last frame, which is made from the stored response. */
  addEnd(frames: string, cost: NanoUsd): void {
    this.setCost(cost);
    for (const event of eventsOf(frames).slice(0, -1)) if (event["type"] !== "response.created") this.#put(event);
  }

  /** The cost that the last event shows. */
  setCost(cost: NanoUsd): void {
    this.#cost = cost;
  }

  /** Stores what is left. */
  async end(): Promise<EndedEvents> {
    this.#ending.abort();
    await this.#flushing;
    while (this.#pending.length > 0 && !this.#signal.aborted) await this.#flush();
    return { last: this.#next, ...(this.#cost === undefined ? {} : { cost: String(this.#cost) }) };
  }

  #put(event: Fields): void {
    const last = this.#pending.length > this.#sent ? this.#pending.at(-1) : undefined;
    const merged = last && mergedDelta(last.event, event);
    if (last && merged) {
      last.event = merged;
      return;
    }
    const number = this.#next++;
    if (!this.#isLost) this.#pending.push({ number, event });
  }

  #schedule(delayMs: number): void {
    if (this.#flushing || this.#pending.length === 0 || this.#signal.aborted || this.#ending.signal.aborted) return;
    this.#flushing = pause(this.#deps.clock, delayMs, AbortSignal.any([this.#signal, this.#ending.signal]))
      .then(() => this.#flush())
      .finally(() => {
        this.#flushing = undefined;
        this.#schedule(FLUSH_MS);
      });
  }

  /** While the control plane is away, events wait here. Events that cannot be stored at all are left out; the last one has the whole response. */
  async #flush(): Promise<void> {
    if (this.#signal.aborted) return;
    const events = this.#chunk();
    this.#sent = events.length;
    try {
      await this.#store(events);
      this.#pending.splice(0, events.length);
      this.#sent = 0;
      this.#deps.feed.changed(this.#record.id, "events");
    } catch (thrown) {
      const { code } = asAppError(thrown);
      if (PASSING.has(code)) return await pause(this.#deps.clock, PAUSE_MS, this.#signal);
      const level = NOT_HELD.has(code) ? "debug" : "warn";
      this.#deps.logger[level]({ id: this.#record.id, error: String(thrown) }, "events of a background response could not be stored");
      this.#isLost = true;
      this.#pending.length = 0;
      this.#sent = 0;
    }
  }

  #chunk(): EventsBody["events"] {
    const frames = (this.#sent > 0 ? this.#pending.slice(0, this.#sent) : this.#pending).map(({ number, event }) => ({
      number,
      frame: frameOf({ ...event, type: String(event["type"]), sequence_number: number }),
    }));
    let characters = 0;
    const end = frames.findIndex(({ frame }, index) => {
      characters += frame.length;
      return index > 0 && characters > CHARACTERS_MAX;
    });
    return frames.slice(0, end < 0 ? undefined : end);
  }

  async #store(events: EventsBody["events"]): Promise<void> {
    const { id: parentId, teamId } = this.#record;
    const { records, clock } = this.#deps;
    const id = `${parentId}.${events[0]?.number}`;
    const body: EventsBody = { events };
    const times = { createdAtMs: clock.now(), expiresAtMs: clock.now() + EVENTS_MS };
    try {
      await this.#create({ type: "create", kind: "response_events", id, parentId, body, ...times });
    } catch (thrown) {
      if (asAppError(thrown).code !== "ALREADY_EXISTS") throw thrown;
      // Either an earlier attempt succeeded, and only its answer was lost, or another edge has stored events under these numbers.
      const stored = await records.get<EventsBody>(teamId, "response_events", id);
      if (!isDeepStrictEqual(stored?.body, body)) throw thrown;
    }
  }

  /**
   * A control plane of the release before refuses a commit with `held`, which it does not know; it gets the commit without it. A commit that is wrong in
   * another way is refused again.
   */
  async #create(events: RecordWrite): Promise<void> {
    const { records, logger } = this.#deps;
    const [owner, id] = [ownerOf(this.#record), this.#record.id];
    try {
      await records.commit(owner, [{ type: "held", kind: "response", id, claim: this.#claim }, events]);
    } catch (thrown) {
      if (asAppError(thrown).code !== "VALIDATION_ERROR") throw thrown;
      await records.commit(owner, [events]);
      if (!this.#isUnguarded)
        logger.warn({ id }, "the control plane is of an older release: events are stored without a check of the claim");
      this.#isUnguarded = true;
    }
  }
}

/** JSON may contain U+2028 and U+2029, which regular expressions take for the end of a line. */
function eventsOf(frames: string): Fields[] {
  const lines = frames.split("\n").filter((line) => line.startsWith(DATA));
  return lines.map((line) => JSON.parse(line.slice(DATA.length)) as Fields);
}
