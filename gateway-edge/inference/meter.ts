import type { Clock } from "../../common/clock.ts";
import type { AppError } from "../../common/errors.ts";
import { type NanoUsd, nanoUsd } from "../../common/money.ts";
import type { Caller, Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { Intent, Progress, Served as ServedRecord } from "../credit/journal/records.ts";
import type { BytesPart, Provider, ReportedUsage, StreamPart } from "../providers/provider.ts";
import type { Job } from "./job.ts";
import { measured } from "./measure.ts";
import { pricesOf } from "./plan-call.ts";
import { cost, type PriceUnit } from "./price.ts";
import { pricesAt } from "./price-tier.ts";
import { roughCounter } from "./tokens.ts";
import { disjointUsage, inputTokens, NO_USAGE, toWireUsage, type Usage } from "./usage.ts";

export interface Metered {
  readonly callId: string;
  readonly onceFor?: string | undefined;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly job: Job<unknown>;
  readonly inputTokens: number;
}

/** Who answered in the end, and how many were asked. */
export interface Served {
  readonly attempt: { readonly deployment: Deployment; readonly group: string; readonly isFallback: boolean };
  readonly provider: Provider;
}

export type Outcome =
  /** Ended by us where the credits did, if it says so. */
  | { readonly status: "success"; readonly isCutShort?: boolean }
  | { readonly status: "cancelled" }
  | { readonly status: "error"; readonly error: AppError; readonly httpStatus: number };

export interface Bill {
  readonly usage: Usage;
  readonly cost: NanoUsd;
}

/** Watches one call: what was delivered, what it costs, where its time went. */
export interface Meter {
  /** Counts the time of something that is not our own work: the upstream, or a client that reads slowly. */
  outside<T>(waiting: Promise<T>): Promise<T>;
  waited(milliseconds: number): void;
  /** What is written down of the call before it is made. */
  intent(worstCase: bigint): Intent;
  /** Who answers. */
  servedBy(served: Served, route: { readonly retries: number; readonly fallbacks: number }): void;
  /** What is written down of who answers. */
  served(served: Served): ServedRecord;
  delivered(part: StreamPart | BytesPart): void;
  reported(usage: ReportedUsage | undefined): void;
  /** What was delivered so far, when it is time to write that down again. */
  progress(): Progress | undefined;
  /** What the call costs if it ends now: by the provider's word, or by our own count of what was delivered. */
  bill(): Bill;
  log(outcome: Outcome, bill: Bill): UsageLog;
  overheadMs(): number;
  elapsedMs(): number;
  firstTokenMs(): number | undefined;
}

/** How much may be delivered, and for how long, before it is written down again: a process that dies forgets no more than that. */
const PROGRESS_DELTAS = 32;
const PROGRESS_MS = 250;

const END_USER_CHARACTERS_MAX = 256;

/** The status that logs show for a client that left; it never goes over a wire. */
const CLIENT_LEFT_STATUS = 499;

export function createMeter(call: Metered, clock: Clock): Meter {
  return new CallMeter(call, clock);
}

class CallMeter implements Meter {
  readonly #call: Metered;
  readonly #clock: Clock;
  readonly #createdAt: Date;
  readonly #startedMs: number;
  /** Read only when the provider does not say what was used. */
  readonly #deltas: Extract<StreamPart, { text: string }>[] = [];
  #outsideMs = 0;
  #firstTokenMs: number | undefined;
  #answered = false;
  readonly #passed = { bytes: 0, text: "" };
  #reported: ReportedUsage | undefined;
  #served: Served | undefined;
  #attempts = 1;
  /** What was last written down of the call. */
  #told = { deltas: 0, elapsedMs: 0, output: 0 };

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
    // One promise more, not the three of an async function: it is passed with every token.
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
    const { callId, onceFor, caller, endpoint, job } = this.#call;
    return {
      callId,
      createdAtMs: this.#createdAt.getTime(),
      endpoint,
      organizationId: caller.organizationId,
      teamId: caller.teamId,
      teamName: caller.teamName,
      apiKeyId: caller.keyId,
      apiKeyName: caller.keyName,
      maskedKey: caller.maskedKey,
      userId: caller.userId,
      endUser: endUserOf(job),
      model: job.model,
      type: job.operation,
      stream: job.stream,
      worstCase,
      tags: job.tags,
      onceFor,
    };
  }

  servedBy(served: Served, route: { readonly retries: number; readonly fallbacks: number }): void {
    this.#served = served;
    this.#attempts = 1 + route.retries + route.fallbacks;
  }

  served(served: Served): ServedRecord {
    const { deploymentId, provider, model, type } = identityOf(this.#call, served);
    const { deployment, isFallback } = served.attempt;
    const prices = pricesOf(deployment, this.#call.job);
    return {
      callId: this.#call.callId,
      deploymentId,
      provider,
      model,
      type,
      priceVersion: deployment.model?.pricing?.version ?? 0,
      prices: prices && pricesAt(prices, this.#call.inputTokens),
      attempts: this.#attempts,
      fallbackFrom: isFallback ? this.#call.job.model : undefined,
    };
  }

  progress(): Progress | undefined {
    // What passes as bytes is measured at its end.
    if (this.#call.job.estimate) return undefined;
    const elapsedMs = this.elapsedMs();
    const fresh = this.#deltas.length - this.#told.deltas;
    if (fresh < PROGRESS_DELTAS && (fresh === 0 || elapsedMs - this.#told.elapsedMs < PROGRESS_MS)) return undefined;
    const counter = this.#served?.provider.counter ?? roughCounter;
    // Only what is new is counted: a little more than the whole would give, and the whole is counted at the end.
    const texts = textsByChoice(this.#deltas.slice(this.#told.deltas));
    const output = this.#told.output + texts.reduce((sum, text) => sum + counter.countText(text), 0);
    this.#told = { deltas: this.#deltas.length, elapsedMs, output };
    const usage = { ...NO_USAGE, input: this.#call.inputTokens, output };
    return { callId: this.#call.callId, elapsedMs: Math.round(elapsedMs), firstTokenMs: rounded(this.#firstTokenMs), usage };
  }

  delivered(part: StreamPart | BytesPart): void {
    if (part.type === "bytes") {
      this.#firstTokenMs ??= this.elapsedMs();
      this.#passed.bytes += part.bytes.length;
      this.#passed.text += part.text ?? "";
    }
    if (part.type !== "text-delta" && part.type !== "other-delta") return;
    this.#firstTokenMs ??= this.elapsedMs();
    this.#deltas.push(part);
  }

  reported(usage: ReportedUsage | undefined): void {
    this.#answered = true;
    this.#reported = usage ?? this.#reported;
  }

  bill(): Bill {
    const { job } = this.#call;
    // Without an answer there is nothing to pay.
    const prices = this.#served && pricesOf(this.#served.attempt.deployment, job);
    const usage = job.estimate ? this.#measured(prices?.unit) : this.#usage();
    return { usage, cost: prices ? cost(usage, pricesAt(prices, inputTokens(usage))) : nanoUsd(0n) };
  }

  log(outcome: Outcome, { usage, cost: charged }: Bill): UsageLog {
    const served = this.#served?.attempt;
    return {
      ...identityOf(this.#call, this.#served),
      createdAt: this.#createdAt,
      completedAt: new Date(this.#clock.now()),
      status: outcome.status,
      httpStatus: outcome.status === "error" ? outcome.httpStatus : outcome.status === "cancelled" ? CLIENT_LEFT_STATUS : 200,
      errorCode: errorCodeOf(outcome),
      usage: toWireUsage(usage),
      cost: charged,
      priceVersion: served?.deployment.model?.pricing?.version ?? 0,
      cacheHit: false,
      attempts: this.#attempts,
      fallbackFrom: served?.isFallback ? this.#call.job.model : undefined,
      latencyMs: Math.round(this.elapsedMs()),
      firstTokenMs: rounded(this.#firstTokenMs),
      overheadUs: Math.round(this.overheadMs() * 1000),
      tags: [...this.#call.job.tags],
    };
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

  /** The usage of a job that can be counted in more than tokens. */
  #measured(unit: PriceUnit = "token"): Usage {
    const { bytes, text } = this.#passed;
    if (bytes === 0 && !this.#answered) return NO_USAGE;
    const counter = this.#served?.provider.counter ?? roughCounter;
    const texts = [text, ...textsByChoice(this.#deltas)];
    const textTokens = texts.reduce((sum, each) => sum + counter.countText(each), 0);
    return measured({
      estimate: this.#call.job.estimate?.({ bytes, textTokens, inputTokens: this.#call.inputTokens }),
      reported: this.#reported,
      unit,
    });
  }

  #usage(): Usage {
    if (this.#reported) return disjointUsage(this.#reported);
    // A client that left before anything came pays nothing; an answer without a word on usage is counted by us.
    if (this.#deltas.length === 0 && !this.#answered) return NO_USAGE;
    const counter = this.#served?.provider.counter ?? roughCounter;
    const output = textsByChoice(this.#deltas).reduce((sum, text) => sum + counter.countText(text), 0);
    return { ...NO_USAGE, input: this.#call.inputTokens, output };
  }
}

function errorCodeOf(outcome: Outcome): string | undefined {
  if (outcome.status === "error") return outcome.error.code;
  return outcome.status === "success" && outcome.isCutShort ? "QUOTA_EXCEEDED" : undefined;
}

/** A label for the log, not a place to keep things: a row has to fit into a message. */
function endUserOf({ endUser }: Job<unknown>): string | undefined {
  return endUser?.slice(0, END_USER_CHARACTERS_MAX);
}

function rounded(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.round(milliseconds);
}

function textsByChoice(deltas: readonly { choice: number; text: string }[]): string[] {
  const pieces = new Map<number, string[]>();
  for (const { choice, text } of deltas) {
    const known = pieces.get(choice);
    if (known) known.push(text);
    else pieces.set(choice, [text]);
  }
  return [...pieces.values()].map((texts) => texts.join(""));
}

/** Who called for what, and who answered, as a row says it. */
export function identityOf(
  { callId, onceFor, endpoint, caller, job }: Omit<Metered, "inputTokens">,
  served: Pick<Served, "attempt"> | undefined,
) {
  const deployment = served?.attempt.deployment;
  return {
    callId,
    onceFor,
    endpoint,
    organizationId: caller.organizationId,
    teamId: caller.teamId,
    teamName: caller.teamName,
    apiKeyId: caller.keyId,
    apiKeyName: caller.keyName,
    maskedKey: caller.maskedKey,
    userId: caller.userId,
    endUser: endUserOf(job),
    // The name asked for, also when it was an alias; after a fallback the group that answered.
    model: served?.attempt.isFallback ? served.attempt.group : job.model,
    deploymentId: deployment?.id ?? "",
    provider: deployment?.model?.providerName || deployment?.providerKind || "",
    type: deployment?.model?.type ?? job.operation,
    stream: job.stream,
  };
}
