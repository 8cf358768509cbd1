import { Cancel, type CancelSignal } from "../../common/cancel.ts";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { type Linked, LinkedList } from "../../common/linked-list.ts";

/** A call whose client waits for an answer. */
export interface OpenCall {
  /** Aborted when the client disconnects or the call is cut; the reason is an AppError. */
  readonly signal: CancelSignal;
  /** The client has disconnected, and the call ends. */
  left(): void;
  /** The client has disconnected, and the call goes on without it until it is closed or cut. False if too many do already. */
  goOn(): boolean;
  /** The call is over. */
  close(): void;
}

/** How many calls may go on without their clients: each may keep an answer in memory. */
export const WITHOUT_CLIENT_MAX = 64;
/** Time for the ends of calls that were cut. */
const CUT_MS = 2000;

/** What the calls of an edge share. */
interface Shared {
  readonly list: LinkedList<ListedCall>;
  withoutClient: number;
  emptied(): void;
}

/** The calls that an edge answers right now. A stopping edge waits for them, and cuts those that take too long. */
export class OpenCalls {
  readonly #stopping = new AbortController();
  readonly #shared: Shared = { list: new LinkedList(), withoutClient: 0, emptied: () => {} };

  /** Aborted when the edge begins to stop. Streams that have no end of their own end then. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  open(): OpenCall {
    return new ListedCall(this.#shared);
  }

  /** The edge begins to stop; open calls continue. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Ends all open calls with an error that their clients see. Each is billed for what it delivered. */
  cut(): void {
    // A copy, because a call that is cut may close at once.
    for (const call of [...this.#shared.list]) call.cut();
  }

  /** Waits until no call is open, also none whose client has left; cuts those that are after `drainMs`. No calls may be opened any more. */
  async closed(clock: Clock, drainMs: number): Promise<void> {
    if (!this.#shared.list.oldest) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#shared.emptied = resolve;
    const waits = [clock.after(drainMs, () => this.cut()), clock.after(drainMs + CUT_MS, resolve)];
    await promise;
    for (const end of waits) end();
  }
}

class ListedCall implements OpenCall, Linked<ListedCall> {
  readonly #abort = new Cancel();
  readonly #shared: Shared;
  #isOpen = true;
  #isWithoutClient = false;
  before: ListedCall | undefined;
  after: ListedCall | undefined;

  constructor(shared: Shared) {
    this.#shared = shared;
    shared.list.add(this);
  }

  get signal(): CancelSignal {
    return this.#abort;
  }

  left(): void {
    this.#abort.abort(new AppError("UPSTREAM_UNAVAILABLE", "The client disconnected."));
  }

  goOn(): boolean {
    if (!this.#isOpen || this.#shared.withoutClient >= WITHOUT_CLIENT_MAX) return false;
    this.#shared.withoutClient++;
    this.#isWithoutClient = true;
    return true;
  }

  cut(): void {
    this.#abort.abort(new ShutdownError());
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { list } = this.#shared;
    list.remove(this);
    if (this.#isWithoutClient) this.#shared.withoutClient--;
    if (!list.oldest) this.#shared.emptied();
  }
}

/** The edge stops before the answer is complete. */
export class ShutdownError extends AppError {
  constructor() {
    super("UNAVAILABLE", "The gateway is restarting and ended this answer before it was complete. Send the request again.", {
      retryAfterSeconds: 1,
    });
  }
}

/** Whether a call has ended without the edge's doing. */
export function hasLeft({ aborted, reason }: CancelSignal): boolean {
  return aborted && !(reason instanceof ShutdownError);
}

/** The error of a call that its client or the stopping edge has ended. */
export function endedBy({ reason }: CancelSignal, thrown: unknown): AppError {
  if (reason instanceof AppError) return reason;
  if (thrown instanceof AppError) return thrown;
  return new AppError("UPSTREAM_UNAVAILABLE", "The client disconnected.", { cause: thrown });
}
