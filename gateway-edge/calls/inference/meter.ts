import type { Clock } from "../../../common/clock.ts";
import { mapped } from "../../../common/mapped.ts";
import type { PriceUnit } from "../../../common/pricing.ts";
import type { AttemptDetail, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Intent, Progress, ServedRecord } from "../../credit/journal/records.ts";
import { type Counted, disjointUsage, NO_USAGE, type Usage, usageUpTo } from "../../credit/pricing/usage.ts";
import type { Amounts, BytesPart, ReportedUsage, StreamPart } from "../../upstream/providers/provider.ts";
import { DeliveredText } from "../tokens/delivered-text.ts";
import { type AttemptFailure, failedAttempt, lastAttempt } from "./attempt-detail.ts";
import { type Bill, billOf, type Outcome } from "./bill.ts";
import { intentOf, type Metered, rounded, rowOf, type ServedDeployment, servedRecordOf } from "./call-row.ts";
import { inputReads } from "./job.ts";
import { outputAt, pricesOf } from "./plan-call.ts";
import { countRequest, textCounterOf } from "./text-counters.ts";
import { type Disbelieved, measured, saysTokens, whyNotBelieved } from "./usage-bounds.ts";

/** Measures one call: what was delivered, what it costs, where its time went. */
export interface Meter {
  /** Counts the time of a wait that is not the gateway's own: for the upstream, or for a client that reads slowly. */
  outside<T>(waiting: Promise<T>): Promise<T>;
  waited(milliseconds: number): void;
  /** The intent record of the call. */
  intent(worstCase: bigint): Intent;
  /** The deployment that answers. */
  servedBy(served: ServedDeployment, route: { readonly retries: number; readonly fallbacks: number }): void;
  /** A deployment is about to be asked. */
  attempting(): void;
  attemptFailed(attempt: ServedDeployment["attempt"], failure: AttemptFailure): void;
  /** The journal record of the deployment that answers. */
  served(served: ServedDeployment): ServedRecord;
  /** A part of a stream that goes to the client. */
  delivered(part: StreamPart | BytesPart): void;
  /** The usage that the provider reports for a stream. */
  reported(usage: ReportedUsage): void;
  /** The usage that the provider reports after the client has left: of the output, the call costs what was delivered and its hidden reasoning. */
  reportedLate(usage: ReportedUsage): void;
  /** A whole answer: its texts, by choice, and the usage that the provider reports. */
  answered(texts: readonly string[], usage: ReportedUsage | undefined): void;
  /** The totals delivered so far, when the next progress record is due: by number of deltas, and by time unless more has arrived already. */
  progress(hasMore?: boolean): Progress | undefined;
  /**
   * What the call costs if it ends now: by the provider's report, or by the gateway's count of what was delivered, without the share that
   * never left the gateway.
   */
  bill(unsentShare?: number): Bill | Promise<Bill>;
  log(outcome: Outcome, bill: Bill, reserved: bigint): UsageLog;
  /** A provider report that cannot be true; the bill then uses the gateway's count. */
  disbelieved(): Disbelieved | undefined;
  overheadMs(): number;
  elapsedMs(): number;
  firstTokenMs(): number | undefined;
}

/** How much may be delivered, and for how long, between progress records: a process that dies loses no more than that. */
const PROGRESS_DELTAS = 32;
const ATTEMPTS_DETAIL_MAX = 20;
const PROGRESS_MS = 250;

/** A share of the rough count for reservations: a row that recovery makes has one input token for every four bytes. */
const JOURNAL_INPUT_SHARE = 0.75;

export function createMeter(call: Metered, clock: Clock): Meter {
  return new CallMeter(call, clock);
}

class CallMeter implements Meter {
  readonly #call: Metered;
  readonly #clock: Clock;
  readonly #createdAt: Date;
  readonly #startedMs: number;
  /** Counted only when the provider reports no usage: the parts of a stream, or a whole answer. */
  #text: DeliveredText | undefined;
  #whole: readonly string[] | undefined;
  #deltas = 0;
  #outsideMs = 0;
  #firstTokenMs: number | undefined;
  #answered = false;
  #passedBytes = 0;
  #fees: Amounts | undefined;
  #reported: ReportedUsage | undefined;
  #late: ReportedUsage | undefined;
  #disbelieved: Disbelieved | undefined;
  #served: ServedDeployment | undefined;
  #attempts = 1;
  #attemptMs = 0;
  /** Absent unless an attempt failed: the only attempt of a call is the call itself. */
  #attemptsDetail: AttemptDetail[] | undefined;
  /** The totals of the last progress record. */
  #noted = { deltas: 0, elapsedMs: 0 };

  constructor(call: Metered, clock: Clock) {
    this.#call = call;
    this.#clock = clock;
    this.#createdAt = new Date(clock.now());
    this.#startedMs = clock.monotonicMs();
  }

  outside<T>(waiting: Promise<T>): Promise<T> {
    const sinceMs = this.#clock.monotonicMs();
    const over = () => {
      this.#outsideMs += this.#clock.monotonicMs() - sinceMs;
    };
    // One more promise, not the three of an async function: this runs for every token.
    return waiting.then(
      (value) => {
        over();
        return value;
      },
      (error: unknown) => {
        over();
        throw error;
      },
    );
  }

  waited(milliseconds: number): void {
    this.#outsideMs += milliseconds;
  }

  intent(worstCase: bigint): Intent {
    return intentOf(this.#call, { createdAtMs: this.#createdAt.getTime(), worstCase });
  }

  servedBy(served: ServedDeployment, route: { readonly retries: number; readonly fallbacks: number }): void {
    this.#served = served;
    this.#attempts = 1 + route.retries + route.fallbacks;
  }

  attempting(): void {
    this.#attemptMs = this.elapsedMs();
  }

  attemptFailed(attempt: ServedDeployment["attempt"], failure: AttemptFailure): void {
    this.#attemptsDetail ??= [];
    if (this.#attemptsDetail.length < ATTEMPTS_DETAIL_MAX) this.#attemptsDetail.push(failedAttempt(attempt, failure, this.#sinceAttempt()));
  }

  #sinceAttempt(): number {
    return Math.round(this.elapsedMs() - this.#attemptMs);
  }

  served(served: ServedDeployment): ServedRecord {
    return servedRecordOf(this.#call, served, this.#attempts);
  }

  progress(hasMore = false): Progress | undefined {
    // A job with its own estimate is measured at its end.
    if (this.#call.job.estimate) return undefined;
    const fresh = this.#deltas - this.#noted.deltas;
    // Within a read the clock is not asked.
    if (hasMore && fresh < PROGRESS_DELTAS) return undefined;
    const elapsedMs = this.elapsedMs();
    if (fresh < PROGRESS_DELTAS && (fresh === 0 || elapsedMs - this.#noted.elapsedMs < PROGRESS_MS)) return undefined;
    this.#noted = { deltas: this.#deltas, elapsedMs };
    const usage = { ...NO_USAGE, input: this.#inputNow(), output: this.#text?.soFar() ?? 0, amounts: this.#fees };
    return { callId: this.#call.callId, elapsedMs: Math.round(elapsedMs), firstTokenMs: rounded(this.#firstTokenMs), usage };
  }

  delivered(part: StreamPart | BytesPart): void {
    if (part.type === "finish" || part.type === "usage") return;
    this.#firstTokenMs ??= this.elapsedMs();
    this.#text ??= this.#newText();
    if (part.type === "bytes") {
      this.#passedBytes += part.bytes.length;
      if (part.text !== undefined) this.#text.add(0, part.text);
      return;
    }
    this.#deltas++;
    if (part.type === "other-delta" && part.fees) this.#fees = part.fees;
    this.#text.add(part.choice, part.text);
  }

  reported(usage: ReportedUsage): void {
    this.#answered = true;
    this.#believe(usage);
  }

  reportedLate(usage: ReportedUsage): void {
    this.#believe(usage);
    this.#late = this.#reported;
    this.#reported = undefined;
  }

  answered(texts: readonly string[], usage: ReportedUsage | undefined): void {
    this.#answered = true;
    if (usage) this.#believe(usage);
    if (texts.length === 0) return;
    this.#firstTokenMs ??= this.elapsedMs();
    this.#whole = texts;
  }

  bill(unsentShare = 0): Bill | Promise<Bill> {
    // Without an answer there is nothing to bill.
    const prices = this.#served && pricesOf(this.#served.attempt.deployment, this.#call.job);
    const usage = this.#call.job.estimate ? this.#measured(prices?.unit) : this.#usage(unsentShare);
    const reads = this.#served ? inputReads(this.#call.job, this.#served) : 1;
    return mapped(usage, (used) => billOf(used, prices, reads));
  }

  log(outcome: Outcome, bill: Bill, reserved: bigint): UsageLog {
    const timing = {
      createdAt: this.#createdAt,
      completedAt: new Date(this.#clock.now()),
      latencyMs: this.elapsedMs(),
      firstTokenMs: this.#firstTokenMs,
      overheadMs: this.overheadMs(),
    };
    const last = this.#attemptsDetail && outcome.status !== "error" && this.#served;
    if (last) this.#attemptsDetail?.push(lastAttempt(last, this.#sinceAttempt()));
    const ended = {
      call: this.#call,
      served: this.#served,
      attempts: this.#attempts,
      attemptsDetail: this.#attemptsDetail,
      reserved,
      timing,
    };
    return rowOf(ended, outcome, bill);
  }

  disbelieved(): Disbelieved | undefined {
    return this.#disbelieved;
  }

  overheadMs(): number {
    return Math.max(0, this.elapsedMs() - this.#outsideMs);
  }

  elapsedMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs;
  }

  firstTokenMs(): number | undefined {
    return this.#firstTokenMs;
  }

  /** The last report counts, whether it is believed or not. The deployment that answered may write more than the one that would cost most. */
  #believe(reported: ReportedUsage): void {
    const maxOutputTokens = this.#served ? outputAt(this.#served.attempt.deployment, this.#call.job) : this.#call.maxOutputTokens;
    const reason = whyNotBelieved(reported, { ...this.#call, maxOutputTokens });
    this.#disbelieved = reason === undefined ? undefined : { reason, reported };
    this.#reported = reason === undefined ? reported : undefined;
  }

  /** The usage of a job that can be counted in other units than tokens. */
  #measured(unit: PriceUnit = "token"): Usage | Promise<Usage> {
    if (this.#passedBytes === 0 && !this.#answered) return NO_USAGE;
    const measure = ({ input, output }: Counted) => {
      const answered = { bytes: this.#passedBytes, textTokens: output, inputTokens: input };
      return measured({ estimate: this.#call.job.estimate?.(answered), reported: this.#reported, unit });
    };
    // A provider report needs no count by the gateway.
    return saysTokens(this.#reported) ? measure({ input: this.#call.inputTokens, output: 0 }) : mapped(this.#counted(), measure);
  }

  #usage(unsentShare: number): Usage | Promise<Usage> {
    // A report of zero tokens for an answer counts as no report.
    const reported = this.#reported;
    if (saysTokens(reported)) return reported.lacksPrompt ? this.#withPrompt(reported) : disjointUsage(reported);
    // A client that disconnects before the first part pays nothing; an answer without a usage report is counted here.
    if (this.#deltas === 0 && !this.#answered) return NO_USAGE;
    const sent = ({ input, output }: Counted): Counted => ({ input, output: Math.ceil(output * (1 - unsentShare)) });
    return mapped(this.#counted(), (counted) => usageUpTo(this.#late, sent(counted), this.#fees));
  }

  #withPrompt(reported: ReportedUsage): Usage | Promise<Usage> {
    const whole = (promptTokens: number): Usage => ({ ...disjointUsage({ ...reported, promptTokens }), source: "estimated" });
    return mapped(this.#countedInput(), whole);
  }

  /** The gateway's count of request and answer. A count by vocabulary may have to wait for it to load. */
  #counted(): Counted | Promise<Counted> {
    const text = this.#whole ? this.#newText(this.#whole) : this.#text;
    const output = text?.total() ?? 0;
    const input = this.#countedInput();
    if (typeof input === "number") return mapped(output, (tokens) => ({ input, output: tokens }));
    return Promise.all([input, output]).then(([inputTokens, outputTokens]) => ({ input: inputTokens, output: outputTokens }));
  }

  #countedInput(): number | Promise<number> {
    const served = this.#served;
    if (this.#countsItself() || !served) return this.#inputNow();
    return countRequest(this.#call.job, served).catch(() => this.#inputNow());
  }

  /** The request's tokens as far as they are known without counting. */
  #inputNow(): number {
    const { inputTokens: known } = this.#call;
    return this.#countsItself() ? known : Math.ceil(known * JOURNAL_INPUT_SHARE);
  }

  /** Whether the provider's own counter is known, by which the request was counted before the call. */
  #countsItself(): boolean {
    return this.#served?.provider.counter !== undefined;
  }

  #newText(whole: readonly string[] = []): DeliveredText {
    return new DeliveredText(textCounterOf(this.#served), { choiceCount: this.#call.job.choiceCount, whole });
  }
}
