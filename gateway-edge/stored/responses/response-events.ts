import { type Clock, pause } from "../../../common/clock.ts";
import { asAppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { NanoUsd } from "../../../common/money.ts";
import { frameOf } from "../../calls/dialects/responses/frames.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { ownerOf } from "../records/own-record.ts";
import type { RecordOf, RecordStore } from "../records/records.ts";
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

const FLUSH_MS = 250;
const PAUSE_MS = 500;
/** Far below the largest record. */
const CHARACTERS_MAX = 1024 * 1024;
const PASSING: ReadonlySet<string> = new Set(["UNAVAILABLE", "DB_TIMEOUT"]);

/** Continues the events of a response after those that an edge before this one stored. */
export async function openEventLog(deps: EventDeps, record: RecordOf<unknown>, signal: AbortSignal): Promise<EventLog> {
  const { records } = await deps.records.list<EventsBody>(record.teamId, "response_events", {
    parentId: record.id,
    order: "desc",
    limit: 1,
  });
  const last = records[0]?.body.events.at(-1)?.number;
  return new EventLog(deps, record, { signal, next: last === undefined ? 0 : last + 1 });
}

/** Writes the events of a streamed background response. They are stored before a reader gets them: every reader can resume after any event. */
export class EventLog {
  /** Whether an edge before this one stored events. Their text cannot be continued, so only the end follows. */
  readonly isResumed: boolean;
  readonly #deps: EventDeps;
  readonly #record: RecordOf<unknown>;
  readonly #signal: AbortSignal;
  readonly #pending: { number: number; frame: string }[] = [];
  readonly #ending = new AbortController();
  #next: number;
  #cost: NanoUsd | undefined;
  #flushing: Promise<void> | undefined;
  #isLost = false;

  constructor(deps: EventDeps, record: RecordOf<unknown>, { signal, next }: { signal: AbortSignal; next: number }) {
    this.#deps = deps;
    this.#record = record;
    this.#signal = signal;
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
    this.#cost = cost;
    for (const event of eventsOf(frames).slice(0, -1)) if (event["type"] !== "response.created") this.#put(event);
  }

  /** Stores what is left. */
  async end(): Promise<EndedEvents> {
    this.#ending.abort();
    await this.#flushing;
    while (this.#pending.length > 0 && !this.#signal.aborted) await this.#flush();
    return { last: this.#next, ...(this.#cost === undefined ? {} : { cost: String(this.#cost) }) };
  }

  #put(event: Fields): void {
    const number = this.#next++;
    if (!this.#isLost) this.#pending.push({ number, frame: frameOf({ ...event, type: String(event["type"]), sequence_number: number }) });
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
    const events = this.#chunk();
    try {
      await this.#store(events);
      this.#pending.splice(0, events.length);
      this.#deps.feed.changed(this.#record.id);
    } catch (thrown) {
      if (PASSING.has(asAppError(thrown).code)) return await pause(this.#deps.clock, PAUSE_MS, this.#signal);
      this.#deps.logger.warn({ id: this.#record.id, error: String(thrown) }, "events of a background response could not be stored");
      this.#isLost = true;
      this.#pending.length = 0;
    }
  }

  #chunk(): EventsBody["events"] {
    let characters = 0;
    const end = this.#pending.findIndex(({ frame }, index) => {
      characters += frame.length;
      return index > 0 && characters > CHARACTERS_MAX;
    });
    return this.#pending.slice(0, end < 0 ? undefined : end);
  }

  async #store(events: EventsBody["events"]): Promise<void> {
    const { id: parentId, expiresAtMs } = this.#record;
    const { records, clock } = this.#deps;
    const id = `${parentId}.${events[0]?.number}`;
    const body: EventsBody = { events };
    const record = { kind: "response_events", id, parentId, body, createdAtMs: clock.now(), expiresAtMs } as const;
    try {
      await records.commit(ownerOf(this.#record), [{ type: "create", ...record }]);
    } catch (thrown) {
      // An earlier attempt succeeded, and only its answer was lost.
      if (asAppError(thrown).code !== "ALREADY_EXISTS") throw thrown;
    }
  }
}

function eventsOf(frames: string): Fields[] {
  return [...frames.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json) as Fields);
}
