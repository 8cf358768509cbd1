import { Cancel, type CancelSignal } from "../../../common/cancel.ts";
import { isPlaceRefused } from "../../../common/checked-lookup.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { ClientParams } from "../../upstream/client-params.ts";
import type { ConnectionWait } from "../../upstream/providers/provider.ts";
import type { Attempt } from "../../upstream/routing/route.ts";
import { connectionLimitReached } from "../../upstream/transports/connection-wait.ts";
import { hasLeft } from "../open-calls.ts";
import { errorOfGiven } from "./given-error.ts";
import type { Job } from "./job.ts";
import { Watchdog } from "./watchdog.ts";

/** Why a connection was closed. One shared object, because a new error for every call would cost a stack trace each. */
const CLOSED = Object.assign(new Error("the connection was closed"), { name: "AbortError" });

/** The report comes right after the last word. */
const REPORT_MS = 500;

/** What a connection is opened for. */
export interface ConnectionInput {
  readonly job: Pick<Job<unknown>, "uploaded">;
  readonly attempt: Attempt;
  readonly signal: CancelSignal;
  /** Sent to the upstream, so that both sides can find the call. */
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
  /** What the client gave of the provider. */
  readonly given?: ClientParams | undefined;
}

/** The upstream side of an attempt: aborted when the client disconnects, at a timeout, or when the rest is not needed. */
export class AttemptConnection implements ConnectionWait {
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly #clock: Clock;
  readonly #waitMsMax: number;
  readonly #abort = new Cancel();
  readonly #watchdog: Watchdog;
  readonly #client: CancelSignal;
  readonly #given: ClientParams | undefined;
  #finished = false;
  /** Requests of the attempt that have no connection yet. */
  #queuedCount = 0;
  #queuedSinceMs: number | undefined;
  #queuedMs = 0;
  #isQueueTooLong = false;
  #cancelQueue: () => void = () => {};
  #outlivesClient = false;
  #cancelReport: () => void = () => {};
  readonly #onClientLeft = () => {
    if (!this.#outlivesClient || !hasLeft(this.#client)) this.#abort.abort(CLOSED);
    else this.#cancelReport = this.#clock.after(REPORT_MS, () => this.#abort.abort(CLOSED));
  };

  constructor({ clock }: { readonly clock: Clock }, { attempt, signal, job, requestId, traceparent, given }: ConnectionInput) {
    this.requestId = requestId;
    this.traceparent = traceparent;
    this.#clock = clock;
    this.#waitMsMax = attempt.timeouts.totalMs;
    this.#client = signal;
    this.#given = given;
    if (signal.aborted) this.#abort.abort(CLOSED);
    signal.addEventListener("abort", this.#onClientLeft, { once: true });
    this.#watchdog = new Watchdog(clock, attempt.timeouts, () => this.#abort.abort(CLOSED));
    const { uploaded } = job;
    if (!uploaded) return;
    // A client that uploads slowly does not count against the upstream's timeout.
    this.#watchdog.hold();
    const release = () => this.#watchdog.release();
    uploaded.then(release, release);
  }

  get signal(): CancelSignal {
    return this.#abort;
  }

  /**
   * While the request waits for a connection of the pool, the upstream's timeout does not run. The wait may last as long as the total
   * timeout.
   */
  queued(): void {
    this.#queuedCount++;
    if (this.#queuedCount > 1) return;
    this.#queuedSinceMs = this.#clock.monotonicMs();
    this.#watchdog.hold();
    this.#cancelQueue = this.#clock.after(this.#waitMsMax, () => {
      this.#isQueueTooLong = true;
      this.#abort.abort(CLOSED);
    });
  }

  started(): void {
    this.#queuedCount--;
    if (this.#queuedCount > 0) return;
    this.#queuedMs = this.queuedMs();
    this.#queuedSinceMs = undefined;
    this.#cancelQueue();
    this.#watchdog.release();
  }

  /** From here on it is open for a moment after the client has left, because the provider's report may be on its way. */
  outlivesClient(): void {
    this.#outlivesClient = true;
  }

  queuedMs(): number {
    return this.#queuedMs + (this.#queuedSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#queuedSinceMs);
  }

  received(): void {
    this.#watchdog.received();
  }

  /** Everything has arrived. */
  done(): void {
    this.#finished = true;
    this.#watchdog.stop();
    this.#cancelQueue();
    this.#cancelReport();
    this.#client.removeEventListener("abort", this.#onClientLeft);
  }

  close(): void {
    // A complete answer has already freed its connection.
    if (this.#finished) return;
    this.done();
    this.#abort.abort(CLOSED);
  }

  asError(thrown: unknown): AppError {
    const error = this.#errorOf(thrown);
    return this.#given ? errorOfGiven(this.#given, error, { isPlaceRefused: isPlaceRefused(thrown) }) : error;
  }

  #errorOf(thrown: unknown): AppError {
    if (this.#isQueueTooLong) return connectionLimitReached(thrown);
    if (this.#watchdog.timedOut) return new AppError("UPSTREAM_TIMEOUT", "The provider did not answer in time.", { cause: thrown });
    if (thrown instanceof AppError) return thrown;
    const { name, code } = thrown as { name?: unknown; code?: unknown };
    const isOfNetwork = name === "AbortError" || typeof code === "string";
    const internal = isPlaceRefused(thrown) ? `${String(thrown)} (ALLOW_PRIVATE_UPSTREAMS)` : String(code ?? name);
    return isOfNetwork
      ? new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal, cause: thrown })
      : asAppError(thrown);
  }
}
