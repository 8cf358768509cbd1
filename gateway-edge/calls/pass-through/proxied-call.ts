import type { Response } from "express";
import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import { nanoUsd } from "../../../common/money.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type CallIdentity, callerIdentity } from "../../credit/call-identity.ts";
import type { Credit } from "../../credit/credit.ts";
import type { Intent } from "../../credit/journal/records.ts";
import { cost } from "../../credit/pricing/price.ts";
import { disjointUsage, NO_USAGE, toWireUsage, type Usage } from "../../credit/pricing/usage.ts";
import type { UpstreamResponse } from "../../upstream/providers/provider.ts";
import { gatewayErrorStatus } from "../gateway-error.ts";
import { isCounts } from "../inference/usage-bounds.ts";
import type { PricedCall } from "./price-call.ts";
import { headersBack } from "./proxied-headers.ts";
import type { Upstream } from "./upstreams.ts";
import { UsageReader } from "./usage-reader.ts";

export interface ProxiedCallDeps {
  readonly credit: Pick<Credit, "settle">;
  readonly clock: Clock;
  /** How long a client may read nothing of its answer. */
  readonly stallMs: number;
}

const CLIENT_LEFT_STATUS = 499;

export interface ProxiedCallOptions {
  readonly callId: string;
  readonly caller: Caller;
  readonly call: PricedCall;
  readonly upstream: Upstream;
  readonly endpoint: string;
  readonly tags: readonly string[];
}

/** A proxied call that has its reservation and owes its settlement. */
export class ProxiedCall {
  readonly #deps: ProxiedCallDeps;
  readonly #options: ProxiedCallOptions;
  readonly #createdAt: Date;
  readonly #startedMs: number;
  #usage: Usage = NO_USAGE;
  #isStream = false;
  #settled = false;

  constructor(deps: ProxiedCallDeps, options: ProxiedCallOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#createdAt = new Date(deps.clock.now());
    this.#startedMs = deps.clock.monotonicMs();
  }

  /** The intent record of the call. */
  intent(): Intent {
    const { call, tags } = this.#options;
    return {
      ...this.#identity(),
      createdAtMs: this.#createdAt.getTime(),
      worstCase: call.worstCase,
      tags,
    };
  }

  /** Forwards the answer as it arrives; a slow client slows the upstream down, and a client that disconnects ends it. */
  async deliver(from: UpstreamResponse, { response: to, client }: { response: Response; client: AbortSignal }): Promise<void> {
    const { status } = from;
    // The gateway's key is refused, not the caller's.
    if (status === 401 || status === 403) {
      await from.body[Symbol.asyncIterator]().return?.();
      throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", { internal: `the provider answered ${status}` });
    }
    const contentType = from.headers["content-type"];
    const reader = new UsageReader(contentType, this.#options.call.model ?? "");
    this.#isStream = /^text\/event-stream/i.test(contentType ?? "");
    to.status(status);
    for (const [name, value] of Object.entries(headersBack(from, this.#options.upstream))) to.setHeader(name, value);
    const cut = await this.#pass(from.body, to, reader);
    if (status < 400) this.#usage = await this.#used(reader);
    if (client.aborted) return this.#settle({ status: "cancelled", httpStatus: CLIENT_LEFT_STATUS });
    const isBad = status >= 400 || cut !== undefined;
    await this.#settle(
      isBad ? { status: "error", httpStatus: status, errorCode: "UPSTREAM_UNAVAILABLE" } : { status: "success", httpStatus: status },
    );
    // An answer that breaks off upstream breaks off here too: a regular end would mark it as complete.
    if (cut === undefined) to.end();
    else to.destroy();
  }

  /** Returns the error that broke the answer off, if any. */
  async #pass(from: AsyncIterable<Uint8Array>, to: Response, reader: UsageReader): Promise<unknown> {
    try {
      for await (const chunk of from) {
        reader.feed(chunk);
        if (to.destroyed) break;
        if (!to.write(chunk)) await drained(to, this.#deps);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async fail(thrown: unknown, response: Response): Promise<AppError> {
    const error = asAppError(thrown);
    const outcome = response.destroyed
      ? { status: "cancelled", httpStatus: CLIENT_LEFT_STATUS }
      : { status: "error", httpStatus: gatewayErrorStatus(error), errorCode: error.code };
    if (!this.#settled) await this.#settle(outcome);
    return error;
  }

  /** By the provider's report, or by the gateway's count of request and answer. */
  async #used(reader: UsageReader): Promise<Usage> {
    const { usage, text } = reader.end();
    if (usage && isCounts(usage)) return disjointUsage(usage);
    return this.#options.call.prices ? { ...NO_USAGE, input: this.#options.call.inputTokens, output: await text.total() } : NO_USAGE;
  }

  async #settle(outcome: { status: string; httpStatus: number; errorCode?: string }): Promise<void> {
    this.#settled = true;
    await this.#deps.credit.settle(this.#log(outcome));
  }

  #identity(): CallIdentity {
    const { callId, caller, call, upstream, endpoint } = this.#options;
    const model = call.model ?? upstream.row.kind;
    const stream = call.stream || this.#isStream;
    return { ...callerIdentity(caller), callId, endpoint, model, stream, type: "pass_through", endUser: undefined, onceFor: undefined };
  }

  #log(outcome: { status: string; httpStatus: number; errorCode?: string }): UsageLog {
    const { call, upstream, tags } = this.#options;
    const latencyMs = Math.round(this.#deps.clock.monotonicMs() - this.#startedMs);
    return {
      ...this.#identity(),
      deploymentId: call.deployment?.id ?? "",
      provider: call.deployment?.model?.providerName || upstream.row.kind,
      ...outcome,
      errorCode: outcome.errorCode,
      createdAt: this.#createdAt,
      completedAt: new Date(this.#deps.clock.now()),
      usage: toWireUsage(this.#usage),
      cost: call.prices ? cost(this.#usage, call.prices) : nanoUsd(0n),
      priceVersion: call.deployment?.model?.pricing?.version ?? 0,
      cacheHit: false,
      attempts: 1,
      fallbackFrom: undefined,
      latencyMs,
      firstTokenMs: undefined,
      overheadUs: 0,
      tags: [...tags],
      ledgerSeq: undefined,
      attemptsDetail: [],
    };
  }
}

async function drained(to: Response, { clock, stallMs }: ProxiedCallDeps): Promise<void> {
  await new Promise<void>((resolve) => {
    // A client that stops reading would hold its call forever.
    const cancel = clock.after(stallMs, () => to.destroy());
    const finish = () => {
      to.off("drain", finish);
      to.off("close", finish);
      cancel();
      resolve();
    };
    to.once("drain", finish);
    to.once("close", finish);
    if (to.destroyed) finish();
  });
}
