import type { CancelSignal } from "../../../common/cancel.ts";
import type { Clock } from "../../../common/clock.ts";
import { type AppError, asAppError, type RateState } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Credit, ReserveInput } from "../../credit/credit.ts";
import { totalTokens } from "../../credit/pricing/usage.ts";
import type { BytesPart, Send } from "../../upstream/providers/provider.ts";
import type { RouteRun, Router } from "../../upstream/routing/route.ts";
import { endedBy, ShutdownError } from "../open-calls.ts";
import type { CallTrace } from "../tracing/call-trace.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { type OpenAttempt, openAttempt } from "./attempt.ts";
import type { Bill, Outcome } from "./bill.ts";
import { type DeliveredCall, type DeliveredPart, Delivery } from "./delivery.ts";
import { exhausted } from "./exhausted.ts";
import type { Job, JobAnswer } from "./job.ts";
import { createMeter, type Meter } from "./meter.ts";
import { OutputLimit } from "./output-limit.ts";
import { type CallPlan, outputAt, outputWithin, type PlanDeps, planCall } from "./plan-call.ts";
import { reserveInput } from "./reserve-input.ts";
import { alternativesOf, type CallRouting, routeRequest } from "./route-request.ts";
import { isGrowingStream, isInTokens, ShortCredit } from "./short-credit.ts";
import { StreamBounds } from "./stream-bounds.ts";

export type { DeliveredPart } from "./delivery.ts";
export type { CallRouting } from "./route-request.ts";

export interface InferenceDeps extends PlanDeps {
  readonly routing: Router;
  readonly credit: Credit;
  readonly send: Send;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: calls are not traced. */
  readonly tracing?: Tracing | undefined;
}

export interface InferenceCall<Answer> {
  readonly callId: string;
  /** The id of the client's request, by which the upstream names the call too; absent: the call's own id. */
  readonly requestId?: string | undefined;
  /** The key of the background work that makes this call: of all calls with one key, also those of a dead edge, one is billed. */
  readonly onceFor?: string | undefined;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly job: Job<Answer>;
  /** The caller's routing options. */
  readonly routing: CallRouting;
  /** Aborted when the client disconnects. */
  readonly signal: CancelSignal;
  /** The client's end of a stream. */
  readonly client?: { readonly unsentShare: number } | undefined;
  /** The status that the client gets for an error; for the log. */
  readonly errorStatus: (error: AppError) => number;
  /** Reads a whole answer before it is settled, and may change it. What it throws is the call's error; what was used is billed all the same. */
  readonly review?: ((answer: Answer, bill: Bill) => Promise<Answer>) | undefined;
  /** Looks for an answer that needs no provider, once the call has all of its reservation. */
  readonly findAnswer?: (() => Promise<FoundAnswer<Answer> | undefined>) | undefined;
  /** No rate limit counts it: it is part of a call that is counted. */
  readonly isUncounted?: true | undefined;
}

/** Answers a call that has a reservation, and settles it, also when it throws. */
export type FoundAnswer<Answer> = (rate: RateState | undefined) => Promise<InferenceResult<Answer>>;

/** What is known of a call before its first byte. */
export interface CallHead {
  /** The model as the client knows it: the requested name, or the fallback's. */
  readonly model: string;
  readonly deploymentId: string;
  readonly rate: RateState | undefined;
  readonly retries: number;
  readonly fallbacks: number;
  /** Time in the gateway, without the provider's and the client's. */
  overheadMs(): number;
  /** Set when the answer comes from the cache. */
  readonly cacheKey?: string;
  /** Set when that answer was made for a similar text. */
  readonly similarity?: number;
}

export type InferenceResult<Answer> =
  | { readonly type: "answer"; readonly head: CallHead; readonly answer: Answer; readonly bill: Bill }
  /**
   * Parts to send on, then one `settled`: the call is settled, the last bytes may be sent. A reader that stops iterating has disconnected.
   * An error thrown by it comes after the first part, and after the settlement.
   */
  | { readonly type: "stream"; readonly head: CallHead; readonly contentType: string | undefined; readonly parts: DeliveredParts };

/** Its iterator may be a ReadyIterator. */
export type DeliveredParts = AsyncIterable<DeliveredPart | BytesPart>;

/** The one data path of every priced call: admit, reserve, route, send, meter, settle. Knows no provider and no web framework. */
export async function runInference<Answer>(deps: InferenceDeps, call: InferenceCall<Answer>): Promise<InferenceResult<Answer>> {
  const { job, caller, routing } = call;
  const alternatives = alternativesOf(routing);
  const plan = planCall(deps, { caller, job, alternatives, routing });
  const { callId, onceFor, endpoint } = call;
  const { inputTokens, maxOutputTokens } = plan;
  const meter = createMeter({ callId, onceFor, endpoint, caller, job, inputTokens, maxOutputTokens }, deps.clock);
  const input = reserveInput(deps, { call, plan, meter });
  const reservation = deps.credit.reserve(input);
  // In steady state the lease has the credit, and the call does not wait.
  const { reserved, rate } = reservation instanceof Promise ? await meter.outside(reservation) : reservation;
  const running = new RunningCall(deps, { call, plan, meter, rate, input, reserved });
  // From here on credit is reserved: every way out goes through exactly one settlement.
  let found: FoundAnswer<Answer> | undefined;
  try {
    // Where credit is short, nothing else is paid from it.
    if (call.findAnswer && reserved >= plan.reserve) found = await meter.outside(call.findAnswer());
    if (!found) return await running.run();
  } catch (thrown) {
    throw await running.fail(thrown);
  }
  return found(rate);
}

interface RunningParts<Answer> {
  readonly call: InferenceCall<Answer>;
  readonly plan: CallPlan;
  readonly meter: Meter;
  readonly rate: RateState | undefined;
  readonly input: ReserveInput;
  readonly reserved: bigint;
}

/** A call that has its reservation and owes its settlement. */
class RunningCall<Answer> implements DeliveredCall {
  readonly #deps: InferenceDeps;
  readonly #parts: RunningParts<Answer>;
  readonly #call: InferenceCall<Answer>;
  readonly meter: Meter;
  readonly #route: RouteRun;
  readonly #trace: CallTrace | undefined;
  #open: OpenAttempt<Answer> | undefined;
  #settled = false;

  constructor(deps: InferenceDeps, parts: RunningParts<Answer>) {
    const { call, plan, meter } = parts;
    this.#deps = deps;
    this.#parts = parts;
    this.#call = call;
    this.meter = meter;
    this.#route = deps.routing.start(routeRequest(deps, call, plan));
    this.#trace = deps.tracing?.callOf(call);
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  async run(): Promise<InferenceResult<Answer>> {
    const { plan, reserved } = this.#parts;
    const { job } = this.#call;
    const isGrowing = isGrowingStream({ ...this.#parts, job });
    const mostOutput = (deployment: Deployment) =>
      isGrowing ? outputAt(deployment, job) : outputWithin(plan, { reserved, deployment, job });
    const open = await this.#openFirst(mostOutput);
    this.#open = open;
    this.meter.servedBy(open, this.#route);
    const head = this.#head(open);
    if (open.type === "stream") {
      const served = this.meter.served(open);
      // A whole answer gets its final before any of it is shown; a stream may end after any part, so its prices are recorded now.
      this.#deps.credit.served(served);
      const growing = { ...this.#parts, job, credit: this.#deps.credit, counter: open.provider.counter };
      const short = isGrowing && served.prices ? new ShortCredit({ ...growing, prices: served.prices }) : undefined;
      const { counter } = open.provider;
      const limit = isInTokens(job) ? new OutputLimit({ job, counter, maxOutputTokens: mostOutput(open.attempt.deployment) }) : undefined;
      const parts = new Delivery(this.#deps, { open, bounds: new StreamBounds({ limit, short }), call: this });
      return { type: "stream", head, contentType: open.contentType, parts: this.#trace?.observed(parts) ?? parts };
    }
    this.#trace?.answered(open.answer.answer);
    const reviewed = this.#reviewed(open.answer);
    const answer = reviewed instanceof Promise ? await reviewed : reviewed;
    return { type: "answer", head, answer, bill: await this.settle({ status: "success" }) };
  }

  /** Settles for what was delivered so far, if anything, and returns the error to show. */
  async fail(thrown: unknown): Promise<AppError> {
    const { signal } = this.#call;
    const error = signal.aborted ? endedBy(signal, thrown) : this.#open ? this.#open.asError(thrown) : asAppError(thrown);
    if (!this.#settled) {
      if (this.#open) this.meter.attemptFailed(this.#open.attempt, { error });
      if (this.#open && !signal.aborted) this.#route.failed(this.#open.attempt, error, { visible: true });
      const isCancelled = signal.aborted && !(error instanceof ShutdownError);
      await this.settle(isCancelled ? { status: "cancelled" } : { status: "error", error, httpStatus: this.#call.errorStatus(error) });
    }
    return error;
  }

  /** Makes attempts as the router says until one has something to show. Nothing is visible to the client before that. */
  async #openFirst(mostOutput: (deployment: Deployment) => number): Promise<OpenAttempt<Answer>> {
    const { job, signal, routing, callId, requestId = callId } = this.#call;
    for (;;) {
      signal.throwIfAborted();
      const next = this.#route.next(signal);
      const attempt = next instanceof Promise ? await this.meter.outside(next) : next;
      if (!attempt) throw exhausted(this.#route, job.model);
      const dropParams = routing.dropParams ?? this.#deps.dropParams();
      const maxOutputTokens = mostOutput(attempt.deployment);
      const sinceMs = this.#deps.clock.monotonicMs();
      this.meter.attempting();
      const traceparent = this.#trace?.attempting(attempt.deployment, job);
      const opened = await openAttempt(this.#deps, { job, attempt, signal, maxOutputTokens, dropParams, requestId, traceparent });
      // A wait for the gateway's own connection pool counts as the gateway's time.
      this.waitedSince(sinceMs + opened.queuedMs);
      if (opened.type !== "failed") return opened;
      this.meter.attemptFailed(attempt, opened);
      this.#trace?.attemptFailed(opened);
      if (signal.aborted) this.#route.cancelled(attempt);
      else this.#route.failed(attempt, opened.error, { visible: false, upstreamStatus: opened.upstreamStatus });
    }
  }

  /** Meters a whole answer and passes it to `review`. */
  #reviewed({ answer, usage, texts }: JobAnswer<Answer>): Answer | Promise<Answer> {
    this.meter.answered(texts, usage);
    const { review } = this.#call;
    if (!review) return answer;
    const bill = this.meter.bill();
    return bill instanceof Promise ? bill.then((counted) => review(answer, counted)) : review(answer, bill);
  }

  settle(outcome: Outcome): Promise<Bill> {
    this.#settled = true;
    const counted = this.meter.bill(outcome.status === "cancelled" ? this.#call.client?.unsentShare : 0);
    if (!(counted instanceof Promise)) return this.#settleFor(outcome, counted);
    // The rest of the answer is not needed, however long the count takes.
    this.#open?.close();
    return counted.then((bill) => this.#settleFor(outcome, bill));
  }

  #settleFor(outcome: Outcome, bill: Bill): Promise<Bill> {
    if (this.#open) this.#close(this.#open, outcome, bill);
    this.#logDisbelief();
    const settling = this.#deps.credit.settle(this.meter.log(outcome, bill, this.#parts.reserved));
    const sinceMs = this.#deps.clock.monotonicMs();
    return settling.then(() => {
      this.waitedSince(sinceMs);
      return bill;
    });
  }

  #logDisbelief(): void {
    const disbelieved = this.meter.disbelieved();
    if (!disbelieved) return;
    const about = { callId: this.#call.callId, deploymentId: this.#open?.attempt.deployment.id, ...disbelieved };
    this.#deps.logger.warn(about, "the provider's usage is not believed; the call is billed by our own count");
  }

  /** Counts the time since then as a wait for others; returns the time now. */
  waitedSince(sinceMs: number): number {
    const nowMs = this.#deps.clock.monotonicMs();
    this.meter.waited(nowMs - sinceMs);
    return nowMs;
  }

  #close(open: OpenAttempt<Answer>, outcome: Outcome, { usage }: Bill): void {
    open.close();
    // The provider is not to blame for a call that its client or the stopping edge ended.
    if (outcome.status === "cancelled" || (outcome.status === "error" && this.#call.signal.aborted)) this.#route.cancelled(open.attempt);
    if (outcome.status !== "success") return;
    const { queuedMs } = open;
    const [elapsedMs, firstMs] = [this.meter.elapsedMs(), this.meter.firstTokenMs()];
    const firstTokenMs = firstMs === undefined ? undefined : firstMs - queuedMs;
    this.#route.succeeded(open.attempt, { latencyMs: elapsedMs - queuedMs, firstTokenMs, tokens: totalTokens(usage) });
  }

  #head(open: OpenAttempt<Answer>): CallHead {
    const { deployment, group } = open.attempt;
    const { retries, fallbacks } = this.#route;
    // The requested name, also when it is an alias; after a fallback the group that answered.
    const model = fallbacks > 0 ? group : this.#call.job.model;
    return { model, deploymentId: deployment.id, rate: this.#parts.rate, retries, fallbacks, overheadMs: () => this.meter.overheadMs() };
  }
}
