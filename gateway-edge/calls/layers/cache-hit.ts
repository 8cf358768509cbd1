import type { Clock } from "../../../common/clock.ts";
import { type AppError, asAppError, type RateState } from "../../../common/errors.ts";
import { nanoUsd } from "../../../common/money.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Credit } from "../../credit/credit.ts";
import type { Usage } from "../../credit/pricing/usage.ts";
import { toWireUsage } from "../../credit/pricing/usage.ts";
import type { StreamPart } from "../../upstream/providers/provider.ts";
import type { Bill } from "../inference/bill.ts";
import { identityOf, rowTags } from "../inference/call-row.ts";
import type { DeliveredPart } from "../inference/delivery.ts";
import type { CallHead, InferenceResult } from "../inference/inference-call.ts";
import { type PlanDeps, planCall } from "../inference/plan-call.ts";
import { alternativesOf } from "../inference/route-request.ts";
import type { LayeredCall } from "../inference/run-call.ts";

export interface HitDeps extends PlanDeps {
  readonly credit: Pick<Credit, "settle">;
  readonly clock: Clock;
}

/** An answer as the cache stores it. */
export interface CacheEntry<Answer> {
  readonly answer: Answer;
  readonly usage: Usage;
  readonly deploymentId: string;
}

/** An entry, and why it answers the call. */
export interface CachedAnswer<Answer> {
  readonly key: string;
  readonly entry: CacheEntry<Answer>;
  /** Of the text that the answer was made for; absent: the request was equal. */
  readonly similarity?: number;
}

/** What a cached answer costs. */
const HIT_COST = nanoUsd(0n);
const CLIENT_LEFT_STATUS = 499;

/**
 * A call answered from the cache: admitted like any other, without a reservation or an upstream request, with one usage row. Guardrails
 * read the cached answer as if it came from the upstream.
 */
export async function answerFromCache<Answer>(
  deps: HitDeps,
  call: LayeredCall<Answer>,
  found: CachedAnswer<Answer>,
): Promise<InferenceResult<Answer>> {
  const { caller, job, routing } = call;
  planCall(deps, { caller, job, alternatives: alternativesOf(routing), routing });
  return answerReserved(deps, call, found);
}

/** A call that has a reservation, answered from the cache: its settlement releases the credit. */
export async function answerReserved<Answer>(
  deps: HitDeps,
  call: LayeredCall<Answer>,
  { key, entry, similarity, rate }: CachedAnswer<Answer> & { readonly rate?: RateState | undefined },
): Promise<InferenceResult<Answer>> {
  const startedMs = deps.clock.monotonicMs();
  const hit = new Hit(deps, call, entry);
  const overheadMs = () => deps.clock.monotonicMs() - startedMs;
  const { deploymentId } = entry;
  const cached = { cacheKey: key, ...(similarity === undefined ? {} : { similarity }) };
  const head: CallHead = { model: call.job.model, deploymentId, rate, retries: 0, fallbacks: 0, overheadMs, ...cached };
  if (!call.job.stream) return { type: "answer", head, ...(await hit.whole()) };
  return { type: "stream", head, contentType: undefined, parts: hit.parts() };
}

class Hit<Answer> {
  readonly #deps: HitDeps;
  readonly #call: LayeredCall<Answer>;
  readonly #entry: CacheEntry<Answer>;
  readonly #bill: Bill;
  readonly #createdAt: Date;
  readonly #startedMs: number;
  #settled = false;

  constructor(deps: HitDeps, call: LayeredCall<Answer>, entry: CacheEntry<Answer>) {
    this.#deps = deps;
    this.#call = call;
    this.#entry = entry;
    this.#bill = { usage: entry.usage, cost: HIT_COST };
    this.#createdAt = new Date(deps.clock.now());
    this.#startedMs = deps.clock.monotonicMs();
  }

  async whole(): Promise<{ answer: Answer; bill: Bill }> {
    const { review } = this.#call;
    try {
      const answer = review ? await review(this.#entry.answer, this.#bill) : this.#entry.answer;
      await this.#settle({ status: "success" });
      return { answer, bill: this.#bill };
    } catch (thrown) {
      throw await this.#fail(thrown);
    }
  }

  async *parts(): AsyncGenerator<DeliveredPart> {
    const { job, screen } = this.#call;
    const stored = inOrder(job.traits?.().cacheable?.replay?.(this.#entry.answer) ?? []);
    try {
      for await (const part of screen ? screen(stored) : stored) if (part.type !== "usage") yield part;
      await this.#settle({ status: "success" });
      yield { type: "settled", bill: this.#bill };
    } catch (thrown) {
      throw await this.#fail(thrown);
    } finally {
      if (!this.#settled) await this.#settle({ status: "cancelled" });
    }
  }

  async #fail(thrown: unknown): Promise<AppError> {
    const error = asAppError(thrown);
    if (!this.#settled) await this.#settle({ status: "error", error });
    return error;
  }

  async #settle(outcome: { status: "success" | "cancelled" } | { status: "error"; error: AppError }): Promise<void> {
    this.#settled = true;
    await this.#deps.credit.settle(this.#log(outcome));
  }

  #log(outcome: { status: string; error?: AppError }): UsageLog {
    const { job, caller, errorStatus } = this.#call;
    const { clock, routing } = this.#deps;
    const deployment = routing.candidates(job.model, caller).find(({ id }) => id === this.#entry.deploymentId);
    const elapsedMs = clock.monotonicMs() - this.#startedMs;
    return {
      ...identityOf(this.#call, deployment && { attempt: { deployment, group: job.model, isFallback: false } }),
      createdAt: this.#createdAt,
      completedAt: new Date(clock.now()),
      status: outcome.status,
      httpStatus: outcome.error ? errorStatus(outcome.error) : outcome.status === "cancelled" ? CLIENT_LEFT_STATUS : 200,
      errorCode: outcome.error?.code,
      usage: toWireUsage(this.#entry.usage),
      cost: HIT_COST,
      priceVersion: 0,
      cacheHit: true,
      attempts: 0,
      fallbackFrom: undefined,
      latencyMs: Math.round(elapsedMs),
      firstTokenMs: undefined,
      overheadUs: Math.round(elapsedMs * 1000),
      tags: rowTags(job),
      ledgerSeq: undefined,
      attemptsDetail: [],
    };
  }
}

async function* inOrder(parts: readonly StreamPart[]): AsyncGenerator<StreamPart> {
  yield* parts;
}
