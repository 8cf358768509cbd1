import type { Clock } from "../../../common/clock.ts";
import { type AppError, asAppError, type RateState } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Credit, Reservation, ReserveInput } from "../../credit/credit.ts";
import { totalTokens } from "../../credit/pricing/usage.ts";
import type { Send } from "../../upstream/providers/provider.ts";
import type { Attempt, RouteRun, Router } from "../../upstream/routing/route.ts";
import { endedBy, hasLeft, ShutdownError } from "../open-calls.ts";
import type { CallTrace } from "../tracing/call-trace.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { type FailedOpening, type OpenAttempt, type Opening, openAttempt, type StreamedAttempt } from "./attempt.ts";
import type { Bill, Outcome } from "./bill.ts";
import { type DeliveredCall, Delivery } from "./delivery.ts";
import { exhausted } from "./exhausted.ts";
import type { CallHead, FoundAnswer, InferenceCall, InferenceResult } from "./inference-call.ts";
import type { JobAnswer } from "./job.ts";
import { createMeter, type Meter } from "./meter.ts";
import { OutputLimit } from "./output-limit.ts";
import { type CallPlan, outputAt, outputBeside, outputWithin, type PlanDeps, planCall } from "./plan-call.ts";
import { reserveInput } from "./reserve-input.ts";
import { alternativesOf, routeRequest } from "./route-request.ts";
import { isGrowingStream, isInTokens, ShortCredit } from "./short-credit.ts";
import { StreamBounds } from "./stream-bounds.ts";

export interface InferenceDeps extends PlanDeps {
  readonly routing: Router;
  readonly credit: Credit;
  readonly send: Send;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: calls are not traced. */
  readonly tracing?: Tracing | undefined;
}

/** The one data path of every priced call: admit, reserve, route, send, meter, settle. Knows no provider and no web framework. */
export function runInference<Answer>(deps: InferenceDeps, call: InferenceCall<Answer>): Promise<InferenceResult<Answer>> {
  return new Promise((resolve, reject) => {
    const { job, caller, routing, callId, onceFor, endpoint } = call;
    const plan = planCall(deps, { caller, job, alternatives: alternativesOf(routing), routing });
    const { inputTokens, maxOutputTokens } = plan;
    const meter = createMeter({ callId, onceFor, endpoint, caller, job, inputTokens, maxOutputTokens }, deps.clock);
    const input = reserveInput(deps, { call, plan, meter });
    const begin = ({ reserved, rate }: Reservation) =>
      new RunningCall(deps, { call, plan, meter, rate, input, reserved }, { resolve, reject }).begin();
    const reservation = deps.credit.reserve(input);
    // In steady state the lease has the credit, and the call does not wait.
    if (reservation instanceof Promise) meter.outside(reservation).then(begin).catch(reject);
    else begin(reservation);
  });
}

interface RunningParts<Answer> {
  readonly call: InferenceCall<Answer>;
  readonly plan: CallPlan;
  readonly meter: Meter;
  readonly rate: RateState | undefined;
  readonly input: ReserveInput;
  readonly reserved: bigint;
}

interface Ending<Answer> {
  resolve(result: InferenceResult<Answer> | Promise<InferenceResult<Answer>>): void;
  reject(error: unknown): void;
}

/**
 * A call that has its reservation and owes its settlement, as a state machine: finding, routing, asking, answering, settling. Each step
 * begins the next one, or leaves it to what it waits for. What a step throws is the error of the call, which is settled all the same.
 */
class RunningCall<Answer> implements DeliveredCall {
  readonly #deps: InferenceDeps;
  readonly #parts: RunningParts<Answer>;
  readonly #call: InferenceCall<Answer>;
  readonly #ending: Ending<Answer>;
  readonly meter: Meter;
  readonly #route: RouteRun;
  readonly #trace: CallTrace | undefined;
  #askedMs = 0;
  #open: OpenAttempt<Answer> | undefined;
  #settled = false;

  constructor(deps: InferenceDeps, parts: RunningParts<Answer>, ending: Ending<Answer>) {
    const { call, plan, meter } = parts;
    this.#deps = deps;
    this.#parts = parts;
    this.#call = call;
    this.#ending = ending;
    this.meter = meter;
    this.#route = deps.routing.start(routeRequest(deps, call, plan));
    this.#trace = deps.tracing?.callOf(call);
  }

  get isSettled(): boolean {
    return this.#settled;
  }

  get hasLeft(): boolean {
    return hasLeft(this.#call.signal);
  }

  /** From here on credit is reserved: every way out goes through exactly one settlement. */
  begin(): void {
    const { findAnswer } = this.#call;
    // Where credit is short, nothing else is paid from it.
    if (findAnswer && this.#parts.reserved >= this.#parts.plan.reserve) this.#step(this.#find, findAnswer);
    else this.#step(this.#tryNext, undefined);
  }

  #find(findAnswer: NonNullable<InferenceCall<Answer>["findAnswer"]>): void {
    this.#later(this.meter.outside(findAnswer()), this.#found);
  }

  #found(found: FoundAnswer<Answer> | undefined): void {
    if (found) this.#ending.resolve(found(this.#parts.rate));
    else this.#tryNext();
  }

  /** Makes attempts as the router says until one has something to show. Nothing is visible to the client before that. */
  #tryNext(): void {
    const { signal } = this.#call;
    signal.throwIfAborted();
    const next = this.#route.next(signal);
    if (next instanceof Promise) this.#later(this.meter.outside(next), this.#ask);
    else this.#ask(next);
  }

  #ask(attempt: Attempt | undefined): void {
    const { job, signal, routing, callId, requestId = callId } = this.#call;
    if (!attempt) throw exhausted(this.#route, job.model);
    const dropParams = routing.dropParams ?? this.#deps.dropParams();
    const maxOutputTokens = this.#mostOutput(attempt.deployment);
    this.#askedMs = this.#deps.clock.monotonicMs();
    this.meter.attempting();
    const traceparent = this.#trace?.attempting(attempt.deployment, job);
    const input = { job, attempt, signal, maxOutputTokens, dropParams, requestId, traceparent, given: routing.client };
    openAttempt(this.#deps, input, (opening) => this.#step(this.#opened, opening));
  }

  #opened(opening: Opening<Answer>): void {
    // A wait for the gateway's own connection pool counts as the gateway's time.
    this.waitedSince(this.#askedMs + opening.connection.queuedMs());
    if (opening.type === "failed") this.#attemptFailed(opening);
    else this.#show(opening);
  }

  #show(open: OpenAttempt<Answer>): void {
    this.#open = open;
    this.meter.servedBy(open, this.#route);
    if (open.type === "stream") this.#ending.resolve(this.#streamed(open));
    else this.#answered(open, open.answer);
  }

  #attemptFailed(failed: FailedOpening): void {
    const { attempt, error, upstreamStatus } = failed;
    this.meter.attemptFailed(attempt, failed);
    this.#trace?.attemptFailed(failed);
    if (this.#call.signal.aborted) this.#route.cancelled(attempt);
    else this.#route.failed(attempt, error, { visible: false, upstreamStatus });
    this.#tryNext();
  }

  #streamed(open: StreamedAttempt): InferenceResult<Answer> {
    const { job } = this.#call;
    const { credit } = this.#deps;
    const served = this.meter.served(open);
    // A whole answer gets its final before any of it is shown; a stream may end after any part, so its prices are recorded now.
    credit.served(served);
    const { counter } = open.provider;
    const growing = { ...this.#parts, job, credit, counter };
    const short = this.#isGrowing() && served.prices ? new ShortCredit({ ...growing, prices: served.prices }) : undefined;
    const echoed = job.echoesInput ? this.#parts.plan.requestTokens : 0;
    const maxOutputTokens = this.#mostOutput(open.attempt.deployment) + echoed;
    const limit = isInTokens(job) ? new OutputLimit({ job, counter, maxOutputTokens }) : undefined;
    if (limit) open.connection.outlivesClient();
    const parts = new Delivery(this.#deps, { open, bounds: new StreamBounds({ limit, short }), call: this });
    return { type: "stream", head: this.#head(open), contentType: open.contentType, parts: this.#trace?.observed(parts) ?? parts };
  }

  /** Meters a whole answer and passes it to `review`. */
  #answered(open: OpenAttempt<Answer>, { answer, usage, texts }: JobAnswer<Answer>): void {
    const { review } = this.#call;
    const end = (reviewed: Answer) => this.#end(this.#head(open), reviewed);
    this.#trace?.answered(answer);
    this.meter.answered(texts, usage);
    const reviewed = review && Promise.resolve(this.meter.bill()).then((bill) => review(answer, bill));
    if (reviewed) this.#later(reviewed, end);
    else end(answer);
  }

  #end(head: CallHead, answer: Answer): void {
    this.#later(this.settle({ status: "success" }), (bill) => this.#ending.resolve({ type: "answer", head, answer, bill }));
  }

  /** Does a step; what it throws fails the call. */
  #step<Value>(step: (this: this, value: Value) => void, value: Value): void {
    try {
      step.call(this, value);
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  /** Does a step when there is what it needs. */
  #later<Value>(value: Promise<Value>, step: (this: this, value: Value) => void): void {
    value.then((here) => this.#step(step, here), this.#failed);
  }

  readonly #failed = (thrown: unknown): void => {
    const { reject } = this.#ending;
    this.fail(thrown).then(reject, reject);
  };

  /** Settles for what was delivered so far, if anything, and returns the error to show. */
  async fail(thrown: unknown): Promise<AppError> {
    const { signal } = this.#call;
    const error = signal.aborted ? endedBy(signal, thrown) : this.#open ? this.#open.connection.asError(thrown) : asAppError(thrown);
    if (!this.#settled) {
      if (this.#open) this.meter.attemptFailed(this.#open.attempt, { error });
      if (this.#open && !signal.aborted) this.#route.failed(this.#open.attempt, error, { visible: true });
      const isCancelled = signal.aborted && !(error instanceof ShutdownError);
      await this.settle(isCancelled ? { status: "cancelled" } : { status: "error", error, httpStatus: this.#call.errorStatus(error) });
    }
    return error;
  }

  settle(outcome: Outcome): Promise<Bill> {
    this.#settled = true;
    const counted = this.meter.bill(outcome.status === "cancelled" ? this.#call.client?.unsentShare : 0);
    if (!(counted instanceof Promise)) return this.#settleFor(outcome, counted);
    // The rest of the answer is not needed, however long the count takes.
    if (this.#open) closeAttempt(this.#open);
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
    closeAttempt(open);
    // The provider is not to blame for a call that its client or the stopping edge ended.
    if (outcome.status === "cancelled" || (outcome.status === "error" && this.#call.signal.aborted)) this.#route.cancelled(open.attempt);
    if (outcome.status !== "success") return;
    const queuedMs = open.connection.queuedMs();
    const [elapsedMs, firstMs] = [this.meter.elapsedMs(), this.meter.firstTokenMs()];
    const firstTokenMs = firstMs === undefined ? undefined : firstMs - queuedMs;
    this.#route.succeeded(open.attempt, { latencyMs: elapsedMs - queuedMs, firstTokenMs, tokens: totalTokens(usage) });
  }

  #isGrowing(): boolean {
    return isGrowingStream({ ...this.#parts, job: this.#call.job });
  }

  #mostOutput(deployment: Deployment): number {
    const { plan, reserved } = this.#parts;
    const { job } = this.#call;
    const most = this.#isGrowing() ? outputAt(deployment, job) : outputWithin(plan, { reserved, deployment, job });
    return job.maxOutputTokens === undefined ? outputBeside(plan.requestTokens, { deployment, most }) : most;
  }

  #head(open: OpenAttempt<Answer>): CallHead {
    const { deployment, group } = open.attempt;
    const { retries, fallbacks } = this.#route;
    // The requested name, also when it is an alias; after a fallback the group that answered.
    const model = fallbacks > 0 ? group : this.#call.job.model;
    return { model, deploymentId: deployment.id, rate: this.#parts.rate, retries, fallbacks, overheadMs: () => this.meter.overheadMs() };
  }
}

function closeAttempt(open: OpenAttempt<unknown>): void {
  if (open.type === "stream") open.close();
  else open.connection.close();
}
