import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { Caller, RateState } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Credit } from "../credit/credit.ts";
import type { ChatAnswer, Send, StreamPart, UpstreamResponse } from "../providers/provider.ts";
import { readSse } from "../providers/sse-reader.ts";
import type { ChatRequest } from "../schemas/chat.ts";
import { type Bill, createMeter, type Meter, type Outcome } from "./meter.ts";
import { type CallPlan, outputWithin, type PlanDeps, planCall } from "./plan-call.ts";
import { readJsonAnswer } from "./upstream.ts";

export interface InferenceDeps extends PlanDeps {
  readonly credit: Credit;
  readonly send: Send;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The longest a call may take at its provider. */
  readonly upstreamMs: number;
}

export interface InferenceCall {
  readonly callId: string;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly request: ChatRequest;
  /** Aborted when the client left. */
  readonly signal: AbortSignal;
  /** The status under which the client sees an error; for the log. */
  readonly errorStatus: (error: AppError) => number;
}

/** What is known of a call before its first byte. */
export interface CallHead {
  readonly model: string;
  readonly deploymentId: string;
  readonly rate: RateState | undefined;
  /** Time spent here, without the provider's and the client's. */
  overheadMs(): number;
}

export type DeliveredPart = Exclude<StreamPart, { type: "usage" }> | { readonly type: "settled"; readonly bill: Bill };

export type InferenceResult =
  | { readonly type: "answer"; readonly head: CallHead; readonly answer: ChatAnswer; readonly bill: Bill }
  /**
   * Parts to send on, then one `settled`: the ledger has the call, the last bytes may go out. To stop iterating means that
   * the client left. An error thrown by it comes after the first part, and after the settlement.
   */
  | { readonly type: "stream"; readonly head: CallHead; readonly parts: AsyncIterable<DeliveredPart> };

/** The one data path of every priced call: admit, reserve, send, meter, settle, end. Knows no provider and no web framework. */
export async function runInference(deps: InferenceDeps, call: InferenceCall): Promise<InferenceResult> {
  const plan = planCall(deps, call);
  const meter = createMeter(
    { ...call, ...plan, model: call.request.model, stream: call.request.stream === true, endUser: call.request.user, tags: tagsOf(call) },
    deps.clock,
  );
  const { reserved, rate } = await meter.outside(
    deps.credit.reserve({
      callId: call.callId,
      keyId: call.caller.keyId,
      teamId: call.caller.teamId,
      organizationId: call.caller.organizationId,
      worstCase: plan.worstCase,
      tokens: plan.inputTokens,
    }),
  );
  const running = new RunningCall(deps, { call, plan, meter });
  const head: CallHead = {
    model: call.request.model,
    deploymentId: plan.chosen.deployment.id,
    rate,
    overheadMs: meter.overheadMs,
  };
  // From here on credit is set aside: every way out goes through exactly one settlement.
  try {
    const response = await running.send(outputWithin(plan, reserved));
    if (call.request.stream !== true) return { type: "answer", head, ...(await running.readWhole(response)) };
    // The status is only known with the first part: until then an error is still a real one.
    const parts = plan.chosen.provider.readStream(readSse(response.body))[Symbol.asyncIterator]();
    const first = await meter.outside(parts.next());
    return { type: "stream", head, parts: running.deliver(first, parts) };
  } catch (thrown) {
    throw await running.fail(thrown);
  }
}

/** A call that has its reservation and owes its settlement. */
class RunningCall {
  readonly #deps: InferenceDeps;
  readonly #call: InferenceCall;
  readonly #plan: CallPlan;
  readonly #meter: Meter;
  readonly #upstream = new AbortController();
  readonly #over = new AbortController();
  #timedOut = false;
  #settled = false;

  constructor(deps: InferenceDeps, { call, plan, meter }: { call: InferenceCall; plan: CallPlan; meter: Meter }) {
    this.#deps = deps;
    this.#call = call;
    this.#plan = plan;
    this.#meter = meter;
    if (call.signal.aborted) this.#upstream.abort();
    call.signal.addEventListener("abort", () => this.#upstream.abort(), { once: true, signal: this.#over.signal });
    void this.#limitTime();
  }

  async send(maxOutputTokens: number): Promise<UpstreamResponse> {
    const { chosen, body } = this.#plan;
    const stream = this.#call.request.stream === true;
    const request = chosen.provider.buildRequest({ operation: "chat", body, stream, maxOutputTokens }, chosen.deployment);
    this.#upstream.signal.throwIfAborted();
    const response = await this.#meter.outside(this.#deps.send(request, this.#upstream.signal));
    if (response.status === 200) return response;
    throw chosen.provider.readError(response.status, await this.#meter.outside(readJsonAnswer(response)));
  }

  async readWhole(response: UpstreamResponse): Promise<{ answer: ChatAnswer; bill: Bill }> {
    const answer = this.#plan.chosen.provider.readAnswer(await this.#meter.outside(readJsonAnswer(response)));
    for (const { index, message } of answer.choices) {
      this.#meter.delivered({ type: "other-delta", choice: index, fields: {}, text: textOf(message) });
    }
    this.#meter.reported(answer.usage);
    return { answer, bill: await this.#settle({ status: "success" }) };
  }

  async *deliver(first: IteratorResult<StreamPart>, rest: AsyncIterator<StreamPart>): AsyncGenerator<DeliveredPart> {
    try {
      for (let next = first; !next.done; next = await this.#meter.outside(rest.next())) {
        const part = next.value;
        if (part.type === "usage") {
          this.#meter.reported(part.usage);
          continue;
        }
        // Counted when handed over: what a client may have seen is paid.
        this.#meter.delivered(part);
        const handedOverMs = this.#deps.clock.monotonicMs();
        yield part;
        this.#meter.waited(this.#deps.clock.monotonicMs() - handedOverMs);
      }
      // Settled before the client's last byte: a client that saw the end may check its balance.
      yield { type: "settled", bill: await this.#settle({ status: "success" }) };
    } catch (thrown) {
      throw await this.fail(thrown);
    } finally {
      // Reached unsettled only when the reader stopped reading: the client left.
      if (!this.#settled) await this.#settle({ status: "cancelled" });
      // Lets go of the provider's answer. Not waited for: it may be waiting itself, for bytes that no longer come.
      rest.return?.().catch(() => {});
    }
  }

  /** Settles for what was delivered so far, if anything, and gives the error to show. */
  async fail(thrown: unknown): Promise<AppError> {
    const error = this.#asUpstreamError(thrown);
    if (!this.#settled) {
      const cancelled = this.#call.signal.aborted;
      await this.#settle(cancelled ? { status: "cancelled" } : { status: "error", error, httpStatus: this.#call.errorStatus(error) });
    }
    return error;
  }

  async #settle(outcome: Outcome): Promise<Bill> {
    this.#settled = true;
    this.#over.abort();
    if (outcome.status !== "success") this.#upstream.abort();
    const bill = this.#meter.bill();
    await this.#meter.outside(this.#deps.credit.settle(this.#meter.log(outcome)));
    return bill;
  }

  #asUpstreamError(thrown: unknown): AppError {
    if (this.#timedOut) return new AppError("UPSTREAM_TIMEOUT", "The provider did not answer in time.", { cause: thrown });
    if (thrown instanceof AppError) return thrown;
    const { name, code } = thrown as { name?: unknown; code?: unknown };
    const isOfNetwork = name === "AbortError" || typeof code === "string";
    if (!isOfNetwork) this.#deps.logger.error({ callId: this.#call.callId, internal: asAppError(thrown).internal }, "a call failed");
    return isOfNetwork ? new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { cause: thrown }) : asAppError(thrown);
  }

  async #limitTime(): Promise<void> {
    const ended = await this.#deps.clock.sleep(this.#deps.upstreamMs, this.#over.signal).then(
      () => false,
      () => true,
    );
    if (ended) return;
    this.#timedOut = true;
    this.#upstream.abort();
  }
}

function textOf(message: Readonly<Record<string, unknown>>): string {
  const { content, tool_calls: toolCalls } = message;
  return (typeof content === "string" ? content : "") + (toolCalls === undefined ? "" : JSON.stringify(toolCalls));
}

/** LiteLLM's way to label calls: metadata.tags. */
function tagsOf({ request }: InferenceCall): string[] {
  const tags = request.metadata?.["tags"];
  return Array.isArray(tags)
    ? tags
        .filter((tag) => typeof tag === "string")
        .slice(0, 16)
        .map((tag) => tag.slice(0, 64))
    : [];
}
