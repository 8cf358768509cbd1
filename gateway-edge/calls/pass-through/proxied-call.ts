import type { Response } from "express";
import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type CallIdentity, callerIdentity } from "../../credit/call-identity.ts";
import type { Credit } from "../../credit/credit.ts";
import type { Intent } from "../../credit/journal/records.ts";
import { disjointUsage, NO_USAGE, toWireUsage, type Usage } from "../../credit/pricing/usage.ts";
import type { UpstreamResponse } from "../../upstream/providers/provider.ts";
import { gatewayErrorStatus } from "../gateway-error.ts";
import { billOf } from "../inference/bill.ts";
import { isCounts, saysTokens } from "../inference/usage-bounds.ts";
import { isEventStream, type MeteredAnswer, meterAnswer } from "./answer-meter.ts";
import { ANY_READER } from "./answer-readers.ts";
import type { BilledOperation, ProxiedOperation } from "./operations.ts";
import type { PricedCall } from "./price-call.ts";
import type { ProxiedConnection } from "./proxied-connection.ts";
import { headersBack } from "./proxied-headers.ts";
import { HiddenUsage } from "./sent-body.ts";
import type { Upstream } from "./upstreams.ts";

export interface ProxiedCallDeps {
  readonly credit: Pick<Credit, "settle">;
  readonly clock: Clock;
  /** How long a client may read nothing of its answer. */
  readonly stallMs: number;
}

const CLIENT_LEFT_STATUS = 499;

/** Where an answer goes. */
export interface Delivery {
  readonly response: Response;
  readonly connection: ProxiedConnection;
  /** The client did not ask for the usage of the stream. */
  readonly hidesUsage: boolean;
}

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
  #isCut = false;
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
  async deliver(from: UpstreamResponse, { response: to, connection, hidesUsage }: Delivery): Promise<void> {
    const { status } = from;
    // The gateway's key is refused, not the caller's.
    if (status === 401 || status === 403) {
      await from.body[Symbol.asyncIterator]().return?.();
      throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", { internal: `the provider answered ${status}` });
    }
    this.#isStream = isEventStream(from.headers["content-type"]);
    to.status(status);
    for (const [name, value] of Object.entries(headersBack(from, this.#options.upstream))) to.setHeader(name, value);
    const bytes = this.#pass(from.body, to, hidesUsage && this.#isStream ? new HiddenUsage() : undefined);
    await this.#meter(bytes, from, connection);
    if (connection.hasLeft) return this.#settle({ status: "cancelled", httpStatus: CLIENT_LEFT_STATUS });
    const isBad = status >= 400 || this.#isCut;
    await this.#settle(
      isBad ? { status: "error", httpStatus: status, errorCode: "UPSTREAM_UNAVAILABLE" } : { status: "success", httpStatus: status },
    );
    // An answer that breaks off upstream breaks off here too: a regular end would mark it as complete.
    if (this.#isCut) to.destroy();
    else to.end();
  }

  /** Reads all of the answer, for its bill where it has a price. */
  async #meter(bytes: AsyncIterable<Uint8Array>, { status, headers }: UpstreamResponse, connection: ProxiedConnection): Promise<void> {
    const { call } = this.#options;
    if (!call.prices || status >= 400) {
      for await (const _piece of bytes) {
        // Passed on, and that is all.
      }
      return;
    }
    const metered = await meterAnswer(bytes, {
      reader: isBilled(call.operation) ? call.operation.reader : ANY_READER,
      request: call.fields ?? {},
      model: call.model ?? "",
      contentType: headers["content-type"],
      hasLeft: () => connection.hasLeft,
    });
    this.#usage = usageOf(metered, call);
  }

  /** The bytes of the answer, each piece after it is written to the client. What comes after the client has left is read for the report. */
  async *#pass(from: AsyncIterable<Uint8Array>, to: Response, hidden: HiddenUsage | undefined): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of from) {
        await this.#write(hidden ? hidden.take(chunk) : chunk, to);
        yield chunk;
      }
      if (hidden) await this.#write(hidden.end(), to);
    } catch {
      this.#isCut = true;
    }
  }

  async #write(bytes: Uint8Array, to: Response): Promise<void> {
    if (bytes.length > 0 && !to.destroyed && !to.write(bytes)) await drained(to, this.#deps);
  }

  async fail(thrown: unknown, response: Response): Promise<AppError> {
    const error = asAppError(thrown);
    const outcome = response.destroyed
      ? { status: "cancelled", httpStatus: CLIENT_LEFT_STATUS }
      : { status: "error", httpStatus: gatewayErrorStatus(error), errorCode: error.code };
    if (!this.#settled) await this.#settle(outcome);
    return error;
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
    const { usage, cost } = billOf(this.#usage, call.prices, 1);
    const latencyMs = Math.round(this.#deps.clock.monotonicMs() - this.#startedMs);
    return {
      ...this.#identity(),
      deploymentId: call.deployment?.id ?? "",
      provider: call.deployment?.model?.providerName || upstream.row.kind,
      ...outcome,
      errorCode: outcome.errorCode,
      createdAt: this.#createdAt,
      completedAt: new Date(this.#deps.clock.now()),
      usage: toWireUsage(usage),
      cost,
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

/** By the provider's last word on a whole answer; else by the gateway's count, and by more where the provider has reported more. */
function usageOf({ reported, isFinal, output }: MeteredAnswer, call: PricedCall): Usage {
  const counted = Math.min(output, call.outputMax);
  if (!reported || !isCounts(reported) || !saysTokens(reported)) return { ...NO_USAGE, input: call.inputTokens, output: counted };
  const { amounts: _notInTokens, ...tokens } = reported;
  const promptTokens = reported.lacksPrompt ? call.inputTokens : reported.promptTokens;
  if (isFinal) return disjointUsage({ ...tokens, promptTokens });
  const completionTokens = Math.max(reported.completionTokens, counted);
  return { ...disjointUsage({ ...tokens, promptTokens, completionTokens }), source: "estimated" };
}

function isBilled(operation: ProxiedOperation | undefined): operation is BilledOperation {
  return operation !== undefined && operation !== "free";
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
