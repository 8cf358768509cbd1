import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../calls/create.ts";
import { chatUsage } from "../../calls/formats/chat-frames.ts";
import { gatewayErrorStatus } from "../../calls/gateway-error.ts";
import { chatJob } from "../../calls/inference/jobs/chat.ts";
import type { CallRouting } from "../../calls/inference/route-request.ts";
import type { Usage } from "../../credit/pricing/usage.ts";
import type { StepObject } from "../../schemas/stored/assistant-answers.ts";
import type { RecordWrite } from "../records/records.ts";
import type { HeldRun } from "./held-run.ts";
import { type ModelPrompt, modelPrompt, type PromptDeps } from "./model-prompt.ts";
import { ModelTurn } from "./model-turn.ts";
import type { Born } from "./objects.ts";
import type { RunFeed } from "./run-feed.ts";
import { begun, type Ending, ended, endedMessage, endedStep, isEnded, lastErrorOf } from "./run-states.ts";
import { createMessage, createStep, turnWrites } from "./turn-writes.ts";

export interface WorkDeps extends PromptDeps {
  readonly inference: Pick<Inference, "run">;
  readonly feed: RunFeed;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly born: (prefix: string) => Born;
}

/** A model that only ever calls tools would never come to an end. */
const MODEL_CALLS_MAX = 32;
/** A run's calls go where the model's name leads, like a chat call that says nothing about it. */
const ROUTING: CallRouting = {
  fallbacks: [],
  contextWindowFallbacks: {},
  numRetries: undefined,
  disableFallbacks: false,
  dropParams: undefined,
  // max_completion_tokens is a run's, of all its calls together.
  lowersOutput: true,
};

const failure = (code: "server_error" | "invalid_prompt", message: string): Ending => ({ status: "failed", error: { code, message } });

/** The work on one run: calls its model until it has an answer, wants something of its caller, or is stopped. */
export class RunWork {
  readonly #deps: WorkDeps;
  readonly #run: HeldRun;
  readonly #caller: Caller | undefined;
  #breakOff: () => void = () => {};

  constructor(deps: WorkDeps, { run, caller }: { run: HeldRun; caller: Caller | undefined }) {
    this.#deps = deps;
    this.#run = run;
    this.#caller = caller;
  }

  /** Somebody cancelled it: what the model still says is not wanted. */
  breakOff(): void {
    this.#breakOff();
  }

  /** Ends the run for a reason that nobody foresaw. */
  async fail(thrown: unknown): Promise<void> {
    await this.#end({ status: "failed", error: lastErrorOf(this.#understood(thrown)) });
  }

  /** One step; false: there is nothing more to do here. */
  async next(): Promise<boolean> {
    const { run, modelCalls } = this.#run.body;
    if (isEnded(run.status)) return false;
    if (this.#isOver()) return this.#end({ status: "expired" });
    if (run.status === "cancelling") return this.#end({ status: "cancelled" });
    if (run.status === "requires_action") {
      await this.#run.write((body) => (body.run.status === "requires_action" ? body : undefined), { afterwards: "wait" });
      return false;
    }
    if (!this.#caller) return this.#end(failure("server_error", "The API key that the run was made with is gone."));
    if (modelCalls >= MODEL_CALLS_MAX) return this.#end(failure("server_error", `The model called tools ${MODEL_CALLS_MAX} times.`));
    if (run.status === "queued") return this.#begin();
    return this.#callModel(this.#caller);
  }

  async #begin(): Promise<boolean> {
    const outcome = await this.#run.write((body) => ({ ...body, run: begun(body.run, this.#deps.clock.now()) }), { afterwards: "hold" });
    if (outcome === "written") this.#tell("thread.run.in_progress", this.#run.body.run);
    return outcome !== "lost";
  }

  async #callModel(caller: Caller): Promise<boolean> {
    const prompt = await this.#prompt(caller);
    if ("ending" in prompt) return this.#end(prompt.ending);
    const turn = new ModelTurn({
      run: this.#run.body.run,
      born: this.#deps.born,
      tell: ({ event, data }) => this.#tell(event, data),
      isSearch: (name) => name === prompt.fileSearch?.toolName,
    });
    const stop = this.#stopping();
    let usage: Usage | undefined;
    try {
      usage = await this.#hear(turn, { caller, prompt, signal: stop.signal });
    } catch (thrown) {
      return await this.#afterFailure(thrown, turn, stop.signal);
    } finally {
      stop.done();
    }
    return this.#conclude(turn, { prompt, usage });
  }

  async #prompt(caller: Caller): Promise<ModelPrompt | { ending: Ending }> {
    try {
      const prompt = await modelPrompt(this.#deps, { caller, body: this.#run.body });
      return prompt ?? { ending: { status: "incomplete", reason: "max_prompt_tokens" } };
    } catch (thrown) {
      this.#run.signal.throwIfAborted();
      return { ending: { status: "failed", error: lastErrorOf(this.#understood(thrown)) } };
    }
  }

  /** Makes the call and takes in what the model says; ends when it is paid. */
  async #hear(turn: ModelTurn, call: { caller: Caller; prompt: ModelPrompt; signal: AbortSignal }): Promise<Usage> {
    const { run, modelCalls } = this.#run.body;
    const result = await this.#deps.inference.run({
      callId: this.#deps.born("call").id,
      // Made again by another edge, because this one died or lost the run, it is paid once.
      onceFor: `${run.id}/${modelCalls}`,
      endpoint: "/v1/threads/runs",
      caller: call.caller,
      job: chatJob(call.prompt.request),
      routing: ROUTING,
      signal: call.signal,
      errorStatus: gatewayErrorStatus,
    });
    if (result.type === "answer") {
      const [choice] = result.answer.choices;
      if (typeof choice?.message["content"] === "string") turn.takeText(choice.message["content"]);
      turn.takeFields(choice?.message ?? {});
      turn.finishReason = choice?.finishReason ?? "stop";
      return result.bill.usage;
    }
    for await (const part of result.parts) {
      if (part.type === "settled") return part.bill.usage;
      if (part.type === "text-delta") turn.takeText(part.text);
      else if (part.type === "other-delta") turn.takeFields(part.fields);
      else if (part.type === "finish") turn.finishReason = part.reason;
    }
    throw new AppError("UPSTREAM_UNAVAILABLE", "The model's answer broke off.");
  }

  async #conclude(turn: ModelTurn, { prompt, usage }: { prompt: ModelPrompt; usage: Usage }): Promise<boolean> {
    const tokens = chatUsage(usage);
    const used = { prompt: tokens.prompt_tokens, completion: tokens.completion_tokens };
    if (turn.finishReason === "content_filter") {
      return this.#end(failure("invalid_prompt", "The provider's content filter stopped the answer."), { turn, used, filtered: true });
    }
    if (turn.finishReason === "length") return this.#end({ status: "incomplete", reason: "max_completion_tokens" }, { turn, used });
    if (turn.calls.length === 0) return this.#end({ status: "completed" }, { turn, used });
    const plan = turnWrites(turn, { fileSearch: prompt.fileSearch, used, nowMs: this.#deps.clock.now() });
    const outcome = await this.#run.write(plan.change, { afterwards: plan.isWaiting ? "wait" : "hold", more: plan.writes });
    if (outcome === "cancelling") return this.#end({ status: "cancelled" }, { turn, used });
    if (outcome === "lost") return false;
    for (const { event, data } of plan.events) this.#tell(event, data);
    if (plan.isWaiting) this.#tell("thread.run.requires_action", this.#run.body.run);
    return !plan.isWaiting;
  }

  async #afterFailure(thrown: unknown, turn: ModelTurn, stopped: AbortSignal): Promise<boolean> {
    // Somebody else's run now, or a later edge's: nothing may be written.
    if (this.#run.signal.aborted) return false;
    if (stopped.aborted) {
      await this.#run.refresh();
      const isCancelled = this.#run.body.run.status === "cancelling";
      return this.#end(isCancelled ? { status: "cancelled" } : { status: "expired" }, { turn });
    }
    return this.#end({ status: "failed", error: lastErrorOf(this.#understood(thrown)) }, { turn });
  }

  /** Ends the run with what was said so far. */
  async #end(
    ending: Ending,
    last: { turn?: ModelTurn; used?: { prompt: number; completion: number }; filtered?: boolean } = {},
  ): Promise<boolean> {
    const nowMs = this.#deps.clock.now();
    const said = last.turn?.said;
    const message = said && endedMessage(said.message, { ...ending, filtered: last.filtered === true }, nowMs);
    const usage = last.used ? { usage: usageOfStep(last.used) } : {};
    const step = said && { ...endedStep(said.step, ending, nowMs), ...usage };
    const open = await this.#openStep(ending, nowMs);
    const isCancelling = this.#run.body.run.status === "cancelling";
    const more = [...(message && step ? [createMessage(message), createStep(step)] : []), ...(open?.writes ?? [])];
    const outcome = await this.#run.write((body) => ended({ ...body, used: sum(body.used, last.used) }, ending, nowMs), {
      afterwards: "end",
      more,
      evenCancelling: ending.status !== "completed" && ending.status !== "incomplete",
    });
    if (outcome === "cancelling") return this.#end({ status: "cancelled" }, last);
    if (outcome === "lost") return false;
    if (isCancelling) this.#tell("thread.run.cancelling", { ...this.#run.body.run, status: "cancelling", cancelled_at: null, usage: null });
    if (message) this.#tell(`thread.message.${message.status}`, message);
    for (const written of [step, open?.step]) if (written) this.#tell(`thread.run.step.${written.status}`, written);
    this.#tell(`thread.run.${ending.status}`, this.#run.body.run);
    return false;
  }

  /** The step that waited for tool outputs which will not come any more. */
  async #openStep(ending: Ending, nowMs: number): Promise<{ step: StepObject; writes: RecordWrite[] } | undefined> {
    const { openStepId } = this.#run.body;
    if (openStepId === null) return undefined;
    const record = await this.#deps.records.get<StepObject>(this.#run.owner.teamId, "run_step", openStepId);
    if (!record) return undefined;
    const step = endedStep(record.body, ending, nowMs);
    return { step, writes: [{ type: "put", kind: "run_step", id: openStepId, body: step }] };
  }

  /** Aborted when the run is lost, cancelled here, or over its time. */
  #stopping(): { signal: AbortSignal; done: () => void } {
    const stop = new AbortController();
    const abort = () => stop.abort(new AppError("UPSTREAM_UNAVAILABLE", "The run was stopped."));
    const { signal } = this.#run;
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const leftMs = Math.max(0, this.#expiresAtMs() - this.#deps.clock.now());
    const cancelTimer = this.#deps.clock.after(leftMs, abort);
    this.#breakOff = abort;
    const done = () => {
      cancelTimer();
      signal.removeEventListener("abort", abort);
      this.#breakOff = () => {};
    };
    return { signal: stop.signal, done };
  }

  #expiresAtMs(): number {
    return (this.#run.body.run.expires_at ?? 0) * 1000;
  }

  #isOver(): boolean {
    return this.#deps.clock.now() >= this.#expiresAtMs();
  }

  #understood(thrown: unknown): AppError {
    const error = asAppError(thrown);
    if (error.code === "SERVER_ERROR") this.#deps.logger.error({ runId: this.#run.body.run.id, internal: error.internal }, error.message);
    return error;
  }

  #tell(event: string, data: unknown): void {
    this.#deps.feed.tell(this.#run.body.run.id, event, data);
  }
}

function usageOfStep({ prompt, completion }: { prompt: number; completion: number }) {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function sum(used: { prompt: number; completion: number }, more = { prompt: 0, completion: 0 }) {
  return { prompt: used.prompt + more.prompt, completion: used.completion + more.completion };
}
