import { Cancel, type CancelSignal } from "../../common/cancel.ts";
import { AppError } from "../../common/errors.ts";
import { type Linked, LinkedList } from "../../common/linked-list.ts";

/** A call whose client waits for an answer. */
export interface OpenCall {
  /** Aborted when the client disconnects or the call is cut; the reason is an AppError. */
  readonly signal: CancelSignal;
  /** The client has disconnected. */
  left(): void;
  /** The call is over. */
  close(): void;
}

/** The calls that an edge answers right now. A stopping edge waits for them, and cuts those that take too long. */
export class OpenCalls {
  readonly #stopping = new AbortController();
  readonly #open = new LinkedList<ListedCall>();

  /** Aborted when the edge begins to stop. Streams that have no end of their own end then. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  open(): OpenCall {
    return new ListedCall(this.#open);
  }

  /** The edge begins to stop; open calls continue. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Ends all open calls with an error that their clients see. Each is billed for what it delivered. */
  cut(): void {
    // A copy, because a call that is cut may close at once.
    for (const call of [...this.#open]) call.cut();
  }
}

class ListedCall implements OpenCall, Linked<ListedCall> {
  readonly #abort = new Cancel();
  readonly #list: LinkedList<ListedCall>;
  #isOpen = true;
  before: ListedCall | undefined;
  after: ListedCall | undefined;

  constructor(list: LinkedList<ListedCall>) {
    this.#list = list;
    list.add(this);
  }

  get signal(): CancelSignal {
    return this.#abort;
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
    this.#list.remove(this);
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
export function endedBy({ reason }: CancelSignal, thrown: unknown): AppError {
  if (reason instanceof AppError) return reason;
  if (thrown instanceof AppError) return thrown;
  return new AppError("UPSTREAM_UNAVAILABLE", "The client disconnected.", { cause: thrown });
}
