import { Cancel, type CancelSignal } from "../../../common/cancel.ts";
import { isPlaceRefused } from "../../../common/checked-lookup.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import { ignore } from "../../../common/ignore.ts";
import type { ReadyIterator } from "../../../common/ready-iterator.ts";
import type { BytesPart, ConnectionWait, Provider, Send, StreamPart } from "../../upstream/providers/provider.ts";
import type { Attempt } from "../../upstream/routing/route.ts";
import { targetOf, toTarget } from "../../upstream/target.ts";
import { connectionLimitReached } from "../../upstream/transports/connection-wait.ts";
import { parseAnswer, readFailure, wholeBody } from "../../upstream/transports/upstream.ts";
import { answerPieces, streamPieces } from "./attempt-pieces.ts";
import { type Job, type JobAnswer, providerFor } from "./job.ts";
import { Watchdog } from "./watchdog.ts";

export interface AttemptDeps {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly send: Send;
  readonly clock: Clock;
}

export interface AttemptInput<Answer> {
  readonly job: Job<Answer>;
  readonly attempt: Attempt;
  readonly signal: CancelSignal;
  readonly maxOutputTokens: number;
  readonly dropParams: boolean;
  /** Sent to the upstream, so that both sides can find the call. */
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
}

interface Open {
  readonly attempt: Attempt;
  readonly provider: Provider;
  /** An error after the attempt was open, as an AppError. */
  asError(thrown: unknown): AppError;
  /** Frees the connection and discards what has not arrived. */
  close(): void;
  /** How long the attempt waited for a connection of the pool. */
  readonly queuedMs: number;
}

/** An attempt with a result: a whole answer, or the first part of a stream. */
export type OpenAttempt<Answer> =
  | (Open & { readonly type: "answer"; readonly answer: JobAnswer<Answer> })
  | (Open & {
      readonly type: "stream";
      /** As the upstream sent it. */
      readonly contentType: string | undefined;
      readonly first: IteratorResult<AttemptPart>;
      next(): Promise<IteratorResult<AttemptPart>>;
      /** A part that is here already; see ReadyIterator. */
      ready(): AttemptPart | undefined;
      /** See ReadyIterator. */
      wake(onArrival: () => void): boolean;
      /** Something has arrived that `next` did not return. */
      received(): void;
    });

type AttemptPart = StreamPart | BytesPart;

/** Nothing was visible to the client: another deployment may be tried. */
export interface FailedOpening {
  readonly type: "failed";
  readonly error: AppError;
  readonly upstreamStatus: number | undefined;
  readonly queuedMs: number;
}

/** Sends one request to one deployment. An error is an outcome, not an exception. */
export async function openAttempt<Answer>(deps: AttemptDeps, input: AttemptInput<Answer>): Promise<OpenAttempt<Answer> | FailedOpening> {
  const { job, attempt, maxOutputTokens, dropParams } = input;
  const connection = new AttemptConnection(deps, input);
  let upstreamStatus: number | undefined;
  try {
    const provider = providerOf(deps, input);
    const target = targetOf(attempt.deployment);
    const [asError, close] = [(thrown: unknown) => connection.asError(thrown), () => connection.close()];
    const jobAttempt = { provider, target, maxOutputTokens, dropParams };
    const pieces = job.pieces?.(provider, target);
    if (pieces) {
      const onStatus = (status: number) => {
        upstreamStatus = status;
      };
      const asked = { pieces, jobAttempt, connection, onStatus };
      if (job.stream) {
        const { parts, contentType } = await streamPieces(deps, asked);
        return await openStream({ attempt, provider, asError, close, queuedMs: connection.queuedMs(), contentType }, parts, connection);
      }
      const answer = await answerPieces(deps, asked);
      connection.done();
      return { type: "answer", attempt, provider, asError, close, queuedMs: connection.queuedMs(), answer };
    }
    const response = await deps.send(toTarget(job.request(jobAttempt), target), connection.signal, connection);
    upstreamStatus = response.status;
    if (response.status < 200 || response.status > 299) throw provider.readError(await readFailure(response));
    const queuedMs = connection.queuedMs();
    if (!job.stream && !job.passesBytes) {
      const body = wholeBody(response);
      const bytes = body instanceof Promise ? await body : body;
      const answer = job.readAnswer(provider, parseAnswer(bytes, job.answerAs), target);
      connection.done();
      return { type: "answer", attempt, provider, asError, close, queuedMs, answer };
    }
    const opened = { attempt, provider, asError, close, queuedMs, contentType: response.headers["content-type"] };
    return await openStream(opened, job.readStream(provider, response.body, target), connection);
  } catch (thrown) {
    const error = connection.asError(thrown);
    connection.close();
    return { type: "failed", error, upstreamStatus, queuedMs: connection.queuedMs() };
  }
}

function providerOf<Answer>({ providers }: AttemptDeps, { job, attempt }: AttemptInput<Answer>): Provider {
  const { deployment } = attempt;
  const provider = providerFor(providers, job, deployment);
  if (provider) return provider;
  throw new AppError("UPSTREAM_UNAVAILABLE", "The provider does not offer this operation.", {
    internal: `${deployment.providerKind} ${job.operation}`,
  });
}

/** The status is only sent with the first part: until then an error can have its own status, and another deployment may be tried. */
async function openStream<Answer>(
  open: Open & { contentType: string | undefined },
  parts: AsyncIterable<AttemptPart>,
  connection: AttemptConnection,
): Promise<OpenAttempt<Answer>> {
  const iterator: ReadyIterator<AttemptPart> = parts[Symbol.asyncIterator]();
  const onResult = (result: IteratorResult<AttemptPart, unknown>) => {
    connection.received();
    if (result.done) connection.done();
    return result;
  };
  const next = () => iterator.next().then(onResult);
  const close = () => {
    open.close();
    void ignore(iterator.return?.(), "the stream is not read on");
  };
  const ready = () => iterator.ready?.();
  const wake = (onArrival: () => void) => iterator.wake?.(onArrival) === true;
  return { ...open, close, type: "stream", first: await next(), next, ready, wake, received: () => connection.received() };
}

/** Why a connection was closed. One shared object, because a new error for every call would cost a stack trace each. */
const CLOSED = Object.assign(new Error("the connection was closed"), { name: "AbortError" });

/** The upstream side of an attempt: aborted when the client disconnects, at a timeout, or when the rest is not needed. */
class AttemptConnection implements ConnectionWait {
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly #clock: Clock;
  readonly #waitMsMax: number;
  readonly #abort = new Cancel();
  readonly #watchdog: Watchdog;
  readonly #client: CancelSignal;
  #finished = false;
  /** Requests of the attempt that have no connection yet. */
  #queuedCount = 0;
  #queuedSinceMs: number | undefined;
  #queuedMs = 0;
  #isQueueTooLong = false;
  #cancelQueue: () => void = () => {};
  readonly #onClientLeft = () => this.#abort.abort(CLOSED);

  constructor(
    { clock }: AttemptDeps,
    {
      attempt,
      signal,
      job: { uploaded },
      requestId,
      traceparent,
    }: Pick<AttemptInput<unknown>, "attempt" | "signal" | "requestId" | "traceparent"> & { job: Pick<Job<unknown>, "uploaded"> },
  ) {
    this.requestId = requestId;
    this.traceparent = traceparent;
    this.#clock = clock;
    this.#waitMsMax = attempt.timeouts.totalMs;
    this.#client = signal;
    if (signal.aborted) this.#abort.abort(CLOSED);
    signal.addEventListener("abort", this.#onClientLeft, { once: true });
    this.#watchdog = new Watchdog(clock, attempt.timeouts, () => this.#abort.abort(CLOSED));
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
    this.#client.removeEventListener("abort", this.#onClientLeft);
  }

  close(): void {
    // A complete answer has already freed its connection.
    if (this.#finished) return;
    this.done();
    this.#abort.abort(CLOSED);
  }

  asError(thrown: unknown): AppError {
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
