import type { Clock } from "../../../common/clock.ts";
import { AppError, asAppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { chatUsage } from "../../calls/formats/chat-frames.ts";
import { gatewayErrorStatus } from "../../calls/gateway-error.ts";
import { chatJob } from "../../calls/inference/jobs/chat.ts";
import { type CallRouting, NO_ROUTING } from "../../calls/inference/route-request.ts";
import type { Usage } from "../../credit/pricing/usage.ts";
import type { MessageObject, StepObject } from "../../schemas/stored/assistant-answers.ts";
import type { RecordWrite } from "../records/records.ts";
import { notSearched, type Searched } from "./file-search.ts";
import type { LeasedRun } from "./leased-run.ts";
import { type ModelPrompt, modelPrompt, type PromptDeps } from "./model-prompt.ts";
import { ModelTurn } from "./model-turn.ts";
import type { Stamp } from "./objects.ts";
import type { RunEvent, RunFeed } from "./run-feed.ts";
import { begun, type Ending, ended, endedMessage, endedStep, isEnded, lastErrorOf } from "./run-states.ts";
import { createMessage, createStep, turnWrites } from "./turn-writes.ts";

/** What the execution of one run needs. */
export interface RunWorkDeps extends PromptDeps {
  readonly feed: RunFeed;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stamp: (prefix: string) => Stamp;
}

/** Ends a run whose model only ever calls tools. */
const MODEL_CALLS_MAX = 32;
/** Routing of a run's calls, as of a chat call without routing fields. */
const ROUTING: CallRouting = {
  ...NO_ROUTING,
  // A run's max_completion_tokens applies to all its calls together.
  lowersOutput: true,
};

const CUT_OFF: ReadonlySet<string> = new Set(["length", "content_filter"]);
/** File searches of one answer. */
const SEARCHES_MAX = 8;

const failure = (code: "server_error" | "invalid_prompt", message: string): Ending => ({ status: "failed", error: { code, message } });

/** Executes one run: calls its model until it has an answer, needs tool outputs of its caller, or is stopped. */
export class RunWork {
  readonly #deps: RunWorkDeps;
  readonly #run: LeasedRun;
  readonly #caller: Caller | undefined;
  #breakOff: () => void = () => {};

  constructor(deps: RunWorkDeps, { run, caller }: { run: LeasedRun; caller: Caller | undefined }) {
    this.#deps = deps;
    this.#run = run;
    this.#caller = caller;
  }

  /** Aborts the current model call, because the run was canceled. */
  breakOff(): void {
    this.#breakOff();
  }

  /** Ends the run after an unexpected error. */
  async fail(thrown: unknown): Promise<void> {
    await this.#end({ status: "failed", error: lastErrorOf(this.#understood(thrown)) });
  }

  /** Executes one step; resolves to false if there is nothing more to do here. */
  async next(): Promise<boolean> {
    const { run, modelCalls } = this.#run.body;
    if (isEnded(run.status)) return false;
    if (this.#isOver()) return this.#end({ status: "expired" });
    if (run.status === "cancelling") return this.#end({ status: "cancelled" });
    if (run.status === "requires_action") {
      await this.#run.write((body) => (body.run.status === "requires_action" ? body : undefined), { afterwards: "wait" });
      return false;
    }
    if (!this.#caller) return this.#end(failure("server_error", "The API key that created the run no longer exists."));
    if (modelCalls >= MODEL_CALLS_MAX)
      return this.#end(failure("server_error", `The run reached its limit of ${MODEL_CALLS_MAX} model calls.`));
    if (run.status === "queued") return this.#begin();
    return this.#callModel(this.#caller);
  }

  async #begin(): Promise<boolean> {
    const outcome = await this.#run.write((body) => ({ ...body, run: begun(body.run, this.#deps.clock.now()) }), {
      afterwards: "continue",
    });
    if (outcome === "written") this.#emit("thread.run.in_progress", this.#run.body.run);
    return outcome !== "lost";
  }

  async #callModel(caller: Caller): Promise<boolean> {
    const stop = this.#stopping();
    let turn: ModelTurn | undefined;
    let answered: { usage: Usage; searches: ReadonlyMap<string, Searched> };
    try {
      const prompt = await modelPrompt(this.#deps, { caller, body: this.#run.body, signal: stop.signal });
      if (!prompt) return await this.#end({ status: "incomplete", reason: "max_prompt_tokens" });
      turn = this.#newTurn(prompt);
      const usage = await this.#receiveAnswer(turn, { caller, prompt, signal: stop.signal });
      answered = { usage, searches: await this.#search(turn, { caller, prompt, signal: stop.signal }) };
    } catch (thrown) {
      return await this.#afterFailure(thrown, turn, stop.signal);
    } finally {
      stop.done();
    }
    return this.#conclude(turn, answered);
  }

  #newTurn({ fileSearch }: ModelPrompt): ModelTurn {
    const { run, citable = [] } = this.#run.body;
    return new ModelTurn({
      run,
      citable,
      stamp: this.#deps.stamp,
      emit: ({ event, data }) => this.#emit(event, data),
      isSearch: (name) => name === fileSearch?.toolName,
    });
  }

  /** Makes the call and reads the answer into the turn; resolves when the call is settled. */
  async #receiveAnswer(turn: ModelTurn, call: { caller: Caller; prompt: ModelPrompt; signal: AbortSignal }): Promise<Usage> {
    const { run, modelCalls } = this.#run.body;
    const result = await this.#deps.inference.run({
      callId: this.#deps.stamp("call").id,
      // If another edge repeats the call, because this one died or lost the run, it is billed once.
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
    throw new AppError("UPSTREAM_UNAVAILABLE", "The model's answer ended early.");
  }

  /** Executes the file searches of an answer, one after the other: a store's index may be large. */
  async #search(
    turn: ModelTurn,
    { prompt: { fileSearch }, ...by }: { caller: Caller; prompt: ModelPrompt; signal: AbortSignal },
  ): Promise<ReadonlyMap<string, Searched>> {
    const searches = new Map<string, Searched>();
    // The arguments of an answer that was cut off are not whole.
    if (!fileSearch || CUT_OFF.has(turn.finishReason)) return searches;
    const { run, modelCalls } = this.#run.body;
    for (const [index, call] of turn.calls.entries()) {
      if (call.function.name !== fileSearch.toolName) continue;
      const onceFor = `${run.id}/${modelCalls}/${index}`;
      const isLeft = index < SEARCHES_MAX;
      searches.set(call.id, isLeft ? await fileSearch.run(call, { ...by, onceFor }) : notSearched(call.id));
    }
    return searches;
  }

  async #conclude(turn: ModelTurn, { usage, searches }: { usage: Usage; searches: ReadonlyMap<string, Searched> }): Promise<boolean> {
    const tokens = chatUsage(usage);
    const used = { prompt: tokens.prompt_tokens, completion: tokens.completion_tokens };
    if (turn.finishReason === "content_filter") {
      return this.#end(failure("invalid_prompt", "The provider's content filter stopped the answer."), { turn, used, filtered: true });
    }
    if (turn.finishReason === "length") return this.#end({ status: "incomplete", reason: "max_completion_tokens" }, { turn, used });
    if (turn.calls.length === 0) return this.#end({ status: "completed" }, { turn, used });
    const plan = turnWrites(turn, { searches, used, nowMs: this.#deps.clock.now() });
    const outcome = await this.#run.write(plan.change, { afterwards: plan.isWaiting ? "wait" : "continue", more: plan.writes });
    if (outcome === "cancelling") return this.#end({ status: "cancelled" }, { turn, used });
    if (outcome === "lost") return false;
    for (const { event, data } of plan.events) this.#emit(event, data);
    if (plan.isWaiting) this.#emit("thread.run.requires_action", this.#run.body.run);
    return !plan.isWaiting;
  }

  async #afterFailure(thrown: unknown, turn: ModelTurn | undefined, stopped: AbortSignal): Promise<boolean> {
    const last = turn ? { turn } : {};
    // Another edge has claimed the run: nothing may be written.
    if (this.#run.signal.aborted) return false;
    if (stopped.aborted) {
      await this.#run.refresh();
      const isCancelled = this.#run.body.run.status === "cancelling";
      return this.#end(isCancelled ? { status: "cancelled" } : { status: "expired" }, last);
    }
    return this.#end({ status: "failed", error: lastErrorOf(this.#understood(thrown)) }, last);
  }

  /** Ends the run with the model's answer so far. */
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
    if (isCancelling) this.#emit("thread.run.cancelling", { ...this.#run.body.run, status: "cancelling", cancelled_at: null, usage: null });
    if (message) this.#emitMessage(message, last.turn?.cited);
    for (const written of [step, open?.step]) if (written) this.#emit(`thread.run.step.${written.status}`, written);
    this.#emit(`thread.run.${ending.status}`, this.#run.body.run);
    return false;
  }

  /** Ends the step that still waits for tool outputs. */
  async #openStep(ending: Ending, nowMs: number): Promise<{ step: StepObject; writes: RecordWrite[] } | undefined> {
    const { openStepId } = this.#run.body;
    if (openStepId === null) return undefined;
    const record = await this.#deps.records.get<StepObject>(this.#run.owner.teamId, "run_step", openStepId);
    if (!record) return undefined;
    const step = endedStep(record.body, ending, nowMs);
    return { step, writes: [{ type: "put", kind: "run_step", id: openStepId, body: step }] };
  }

  /** A signal that aborts when the claim is lost, or the run is canceled here or expires. */
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

  #emitMessage(message: MessageObject, before: readonly RunEvent[] = []): void {
    for (const { event, data } of [...before, { event: `thread.message.${message.status}`, data: message }]) this.#emit(event, data);
  }

  #emit(event: string, data: unknown): void {
    this.#deps.feed.publish(this.#run.body.run.id, event, data);
  }
}

function usageOfStep({ prompt, completion }: { prompt: number; completion: number }) {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function sum(used: { prompt: number; completion: number }, more = { prompt: 0, completion: 0 }) {
  return { prompt: used.prompt + more.prompt, completion: used.completion + more.completion };
}
