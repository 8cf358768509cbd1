import { AppError } from "../../common/errors.ts";

/** A call whose client waits for an answer. */
export interface OpenCall {
  /** Aborted when the client disconnects or the call is cut; the reason is an AppError. */
  readonly signal: AbortSignal;
  /** The client has disconnected. */
  left(): void;
  /** The call is over. */
  close(): void;
}

/**
 * The calls that an edge answers right now. A stopping edge waits for them, and cuts those that take too long. The calls are a linked list,
 * because tables that every call enters and leaves are expensive for the garbage collector.
 */
export class OpenCalls {
  readonly #stopping = new AbortController();
  readonly #ends = new ListEnds();

  /** Aborted when the edge begins to stop. Streams that have no end of their own end then. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  open(): OpenCall {
    return new ListedCall(this.#ends);
  }

  /** The edge begins to stop; open calls continue. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Ends all open calls with an error that their clients see. Each is billed for what it delivered. */
  cut(): void {
    for (let call = this.#ends.first; call; call = call.next) call.cut();
  }
}

class ListEnds {
  first: ListedCall | undefined;
}

class ListedCall implements OpenCall {
  readonly #abort = new AbortController();
  readonly #ends: ListEnds;
  #isOpen = true;
  next: ListedCall | undefined;
  previous: ListedCall | undefined;

  constructor(ends: ListEnds) {
    this.#ends = ends;
    this.next = ends.first;
    if (ends.first) ends.first.previous = this;
    ends.first = this;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  left(): void {
    this.#abort.abort(new AppError("UPSTREAM_UNAVAILABLE", "The client disconnected."));
  }

  cut(): void {
    this.#abort.abort(new ShutdownError());
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.previous) this.previous.next = this.next;
    else this.#ends.first = this.next;
    if (this.next) this.next.previous = this.previous;
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

/** The error of a call that its client or the stopping edge has ended. */
export function endedBy({ reason }: AbortSignal, thrown: unknown): AppError {
  if (reason instanceof AppError) return reason;
  if (thrown instanceof AppError) return thrown;
  return new AppError("UPSTREAM_UNAVAILABLE", "The client disconnected.", { cause: thrown });
}
