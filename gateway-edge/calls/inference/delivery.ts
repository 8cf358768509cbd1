import type { Clock } from "../../../common/clock.ts";
import type { AppError } from "../../../common/errors.ts";
import { ignore } from "../../../common/ignore.ts";
import type { ReadyIterator } from "../../../common/ready-iterator.ts";
import type { Credit } from "../../credit/credit.ts";
import type { BytesPart, StreamPart } from "../../upstream/providers/provider.ts";
import type { StreamedAttempt } from "./attempt.ts";
import type { Bill, Outcome } from "./bill.ts";
import type { Meter } from "./meter.ts";
import type { StreamBounds } from "./stream-bounds.ts";

/** The call whose stream is delivered. */
export interface DeliveredCall {
  readonly meter: Meter;
  readonly isSettled: boolean;
  /** Whether the client has left. The upstream then goes on for a moment, until it is aborted. */
  readonly hasLeft: boolean;
  /** Counts the time since then as a wait for others; returns the time now. */
  waitedSince(sinceMs: number): number;
  settle(outcome: Outcome): Promise<Bill>;
  /** Settles for what was delivered so far, if anything, and returns the error to show. */
  fail(thrown: unknown): Promise<AppError>;
}

interface DeliveryParts {
  readonly open: Pick<StreamedAttempt, "first" | "next" | "ready" | "wake" | "received" | "lateReport">;
  readonly bounds: StreamBounds;
  readonly call: DeliveredCall;
}

export type DeliveredPart = Exclude<StreamPart, { type: "usage" }> | { readonly type: "settled"; readonly bill: Bill };

type Part = DeliveredPart | BytesPart;

interface Pulled {
  readonly part: StreamPart | BytesPart;
  /** Whether it may be delivered. */
  readonly covered: boolean | Promise<boolean>;
}

const END: IteratorResult<Part, undefined> = { done: true, value: undefined };

/**
 * The parts of an open stream on their way to the client, metered as they are handed over: what a client may have seen is billed. A reader
 * that stops iterating has disconnected.
 */
export class Delivery implements AsyncIterableIterator<Part, undefined>, ReadyIterator<Part> {
  readonly #clock: Clock;
  readonly #credit: Credit;
  readonly #parts: DeliveryParts;
  /** From handing over a part to receiving the next, the time is the client's and the upstream's. */
  #sinceMs: number;
  #hasFirst = true;
  /** A part that `ready` could not decide about. */
  #held: Pulled | undefined;
  /** What is left of the last parts of a stream that ends before its upstream does. */
  #endings: Iterator<Part> | undefined;
  #isCutShort = false;
  /** The reader may stop in the middle of a read, because its client is slow. */
  #isWithinRead = false;
  /** What `ready` met, for `next` to throw. */
  #met: { readonly error: unknown } | undefined;
  #isOver = false;
  #onArrival: () => void = () => {};

  constructor({ clock, credit }: { readonly clock: Clock; readonly credit: Credit }, parts: DeliveryParts) {
    this.#clock = clock;
    this.#credit = credit;
    this.#parts = parts;
    this.#sinceMs = clock.monotonicMs();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Part, undefined>> {
    if (this.#isOver) return END;
    const { call } = this.#parts;
    try {
      if (this.#met) throw this.#met.error;
      if (this.#isWithinRead) this.#noteProgress(false);
      const part = await this.#nextPart();
      if (part) {
        this.#handedOver();
        return { done: false, value: part };
      }
      this.#isOver = true;
      // Settled before the client's last byte: a call whose end the client saw is settled, whatever process dies.
      const bill = await call.settle({ status: "success", isCutShort: this.#isCutShort });
      return { done: false, value: { type: "settled", bill } };
    } catch (thrown) {
      this.#isOver = true;
      if (!call.isSettled) call.waitedSince(this.#sinceMs);
      throw await call.fail(thrown);
    }
  }

  ready(): Part | undefined {
    try {
      const part = this.#nextReady();
      this.#isWithinRead = part !== undefined;
      this.#noteProgress(this.#isWithinRead);
      if (part) return part;
    } catch (error) {
      this.#met = { error };
    }
    this.#sinceMs = this.#clock.monotonicMs();
    return undefined;
  }

  wake(onArrival: () => void): boolean {
    if (this.#isOver || this.#hasFirst || this.#held || this.#endings || this.#met) return false;
    this.#onArrival = onArrival;
    return this.#parts.open.wake(this.#woken);
  }

  readonly #woken = (): void => {
    this.#parts.open.received();
    this.#waitIsOver();
    this.#onArrival();
  };

  async return(): Promise<IteratorResult<Part, undefined>> {
    this.#isOver = true;
    // Reached unsettled only when the reader stopped reading: the client disconnected.
    const { open, call } = this.#parts;
    if (call.isSettled) return END;
    // Who leaves with the last word would otherwise not pay for the hidden reasoning before it, which only the report says.
    const late = call.hasLeft ? await call.meter.outside(open.lateReport()) : undefined;
    if (late) call.meter.reportedLate(late);
    await call.settle({ status: "cancelled" });
    return END;
  }

  /** Undefined at the end. */
  async #nextPart(): Promise<Part | undefined> {
    const { bounds } = this.#parts;
    while (!this.#endings) {
      const pulled = this.#held ?? (await this.#pulled());
      this.#held = undefined;
      if (!pulled) return undefined;
      const { part, covered } = pulled;
      if (covered !== true && !(await covered)) {
        this.#isCutShort = bounds.isOutOfCredit;
        this.#endings = bounds.endings()[Symbol.iterator]();
      } else if (this.#meters(part)) {
        return part;
      }
    }
    const ending = this.#endings.next();
    return ending.done ? undefined : ending.value;
  }

  #nextReady(): Part | undefined {
    const { open, bounds } = this.#parts;
    while (!this.#isOver && !this.#endings && !this.#held && !this.#hasFirst) {
      const part = open.ready();
      if (part === undefined) return undefined;
      const covered = bounds.covers(part);
      if (covered !== true) {
        this.#held = { part, covered };
        // It may be rejected before `next` is called.
        if (covered instanceof Promise) void ignore(covered, "its error is thrown by next");
      } else if (this.#meters(part)) {
        return part;
      }
    }
    return undefined;
  }

  async #pulled(): Promise<Pulled | undefined> {
    const { open, bounds } = this.#parts;
    const isFirst = this.#hasFirst;
    this.#hasFirst = false;
    const next = isFirst ? open.first : await open.next();
    if (!isFirst) this.#waitIsOver();
    return next.done ? undefined : { part: next.value, covered: bounds.covers(next.value) };
  }

  #waitIsOver(): void {
    this.#sinceMs = this.#parts.call.waitedSince(this.#sinceMs);
  }

  /** Counts a part; returns whether it is for the client. */
  #meters(part: StreamPart | BytesPart): part is Exclude<StreamPart, { type: "usage" }> | BytesPart {
    const { meter } = this.#parts.call;
    if (part.type === "usage") meter.reported(part.usage);
    else meter.delivered(part);
    return part.type !== "usage";
  }

  /** A part is about to be shown: what it costs is recorded first. */
  #handedOver(): void {
    this.#noteProgress(false);
    this.#sinceMs = this.#clock.monotonicMs();
  }

  #noteProgress(hasMore: boolean): void {
    const progress = this.#parts.call.meter.progress(hasMore);
    if (progress) this.#credit.progress(progress);
  }
}
