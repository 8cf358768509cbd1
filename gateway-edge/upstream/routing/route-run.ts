import assert from "node:assert/strict";
import type { CancelSignal } from "../../../common/cancel.ts";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Random } from "../../../common/random.ts";
import type { Affinity, AffinityCall } from "./affinity.ts";
import type { Target } from "./deployment-settings.ts";
import { eligible, firstInOrder, suitable } from "./eligible.ts";
import { classify, type ErrorClass } from "./error-class.ts";
import { type FallbackStep, fallbacksAfter, type GroupNames } from "./fallback-plan.ts";
import type { AnswerFacts, Health, Ticket } from "./health.ts";
import { distinct, type ModelGroup, type ModelNames } from "./model-names.ts";
import { quickPick } from "./quick-pick.ts";
import type { RetryBudget } from "./retry-budget.ts";
import { backOffMs, needsAnother, retriesAllowed } from "./retry-plan.ts";
import type { Attempt, FailedAttempt, OnFailed, RouteCall, RouteRun } from "./route-call.ts";
import type { RouterSettings, StrategyName } from "./settings.ts";
import { type Candidate, pick } from "./strategies.ts";
import { ableTargets } from "./target-table.ts";
import { isCallersLimit, timeoutsOf } from "./timeouts.ts";

/** What all runs share, and the table that a run started with: a new configuration never changes a running call. */
export interface RunContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly health: Health;
  readonly affinity: Affinity;
  readonly settings: RouterSettings;
  readonly names: ModelNames;
  budgetOf(configuredName: string): RetryBudget;
  readonly onFailed: OnFailed | undefined;
}

/** One group of the run: the requested model, or a fallback. */
interface Stage {
  readonly group: ModelGroup;
  readonly names: GroupNames;
  readonly step: FallbackStep;
  readonly isFallback: boolean;
  /** Those that fit the call; if empty, `failure` has the reason. */
  readonly targets: readonly Target[];
  /** Tried since the last back-off. */
  readonly tried: Set<string>;
  failure: { readonly error: AppError; readonly kind: ErrorClass; readonly target: Target | undefined } | undefined;
  retries: number;
  backOffs: number;
}

interface OpenAttempt {
  readonly attempt: Attempt;
  readonly ticket: Ticket;
  readonly stage: Stage;
}

export class RunningRoute implements RouteRun {
  readonly #context: RunContext;
  readonly #call: RouteCall;
  #pending: readonly FallbackStep[];
  readonly #entered = new Set<string>();
  #stage: Stage | undefined;
  #open: OpenAttempt | undefined;
  #over = false;
  #attempts = 0;
  #retries = 0;
  #fallbacks = 0;
  #lastError: AppError | undefined;

  constructor(context: RunContext, call: RouteCall) {
    this.#context = context;
    this.#call = call;
    this.#pending = [{ model: call.model, authorized: true }];
  }

  get retries(): number {
    return this.#retries;
  }

  get fallbacks(): number {
    return this.#fallbacks;
  }

  get lastError(): AppError | undefined {
    return this.#lastError;
  }

  next(signal?: CancelSignal): Attempt | Promise<Attempt | undefined> {
    assert(this.#open === undefined, "an attempt must end before the next one begins");
    const stage = this.#over ? undefined : (this.#stage ?? this.#enter());
    // Nearly every call needs one attempt, and does not wait for it.
    const target = stage && !stage.failure ? this.#first(stage) : undefined;
    this.#stage = stage;
    return stage && target ? this.#begin(stage, target) : this.#nextAfter(stage, signal);
  }

  async #nextAfter(failed: Stage | undefined, signal: CancelSignal | undefined): Promise<Attempt | undefined> {
    for (let stage = failed; stage; stage = this.#over ? undefined : this.#enter()) {
      this.#stage = stage;
      const target = stage.failure ? await this.#again(stage, stage.failure, signal) : this.#first(stage);
      if (target) return this.#begin(stage, target);
      this.#leave(stage);
    }
    this.#over = true;
    return undefined;
  }

  failed(attempt: Attempt, error: AppError, { visible, upstreamStatus }: FailedAttempt): void {
    const open = this.#close(attempt);
    if (!open) return;
    const { stage, ticket } = open;
    const { settings, health } = this.#context;
    const kind = classify(error, upstreamStatus);
    const isLate = kind === "timeout" && upstreamStatus === undefined && !visible;
    if (isLate && isCallersLimit(ticket.target, this.#call, settings)) {
      // Says nothing about the deployment: no caller may close it for others by not waiting.
      health.cancelled(ticket);
    } else {
      const retryAfterMs = error.retryAfterSeconds === undefined ? undefined : error.retryAfterSeconds * 1000;
      health.failed(
        ticket,
        { kind, retryAfterMs, hasAlternatives: stage.group.targets.length > 1, forbidden: upstreamStatus === 403 },
        { ...settings, cooldownMs: ticket.target.settings.cooldownMs ?? settings.cooldownMs },
      );
      this.#context.onFailed?.(attempt.deployment.id, upstreamStatus);
    }
    this.#lastError = error;
    stage.failure = { error, kind, target: ticket.target };
    // A client has seen a part of the answer, and a second answer would not continue it.
    if (visible) this.#over = true;
  }

  succeeded(attempt: Attempt, answer: AnswerFacts): void {
    const open = this.#close(attempt);
    if (!open) return;
    this.#over = true;
    const { firstTokenMs, ...rest } = answer;
    this.#context.health.succeeded(open.ticket, this.#call.stream ? { ...rest, firstTokenMs } : rest);
    this.#context.affinity.served(this.#affinityCall(open.stage), attempt.deployment.id, this.#context.settings);
  }

  cancelled(attempt: Attempt): void {
    const open = this.#close(attempt);
    if (!open) return;
    this.#over = true;
    this.#context.health.cancelled(open.ticket);
  }

  #close(attempt: Attempt): OpenAttempt | undefined {
    const open = this.#open;
    if (open?.attempt !== attempt) return undefined;
    this.#open = undefined;
    return open;
  }

  /** The next group that exists, was not tried and may be used. */
  #enter(): Stage | undefined {
    for (;;) {
      const [step] = this.#pending;
      const isFallback = this.#entered.size > 0;
      if (!step || (isFallback && this.#fallbacks >= this.#context.settings.maxFallbacks)) return undefined;
      this.#pending = this.#pending.slice(1);
      const group = this.#resolve(step.model);
      if (!group && !isFallback) {
        this.#lastError = new AppError("MODEL_NOT_FOUND", `The model ${step.model} does not exist.`, { param: "model" });
        return undefined;
      }
      if (!group || this.#entered.has(group.name) || !(step.authorized || this.#call.mayUse(step.model))) continue;
      this.#entered.add(group.name);
      if (isFallback) this.#fallbacks++;
      return this.#stageOf(group, step, isFallback);
    }
  }

  #resolve(model: string): ModelGroup | undefined {
    const pinned = this.#call.pinnedDeploymentId;
    const group = this.#context.names.resolve(model, this.#call);
    if (!group || group.targets.length === 0) return undefined;
    const able = ableTargets(group.targets, this.#call);
    const targets = pinned === undefined ? able : able.filter(({ deployment }) => deployment.id === pinned);
    if (targets === group.targets) return group;
    return targets.length > 0 ? { ...group, targets } : undefined;
  }

  #stageOf(group: ModelGroup, step: FallbackStep, isFallback: boolean): Stage {
    const fits = suitable(group, this.#call, this.#context.settings);
    const isRefused = fits.type === "refused";
    if (isRefused) this.#lastError = fits.error;
    return {
      group,
      names: distinct(step.model, group),
      step,
      isFallback,
      targets: isRefused ? [] : fits.targets,
      tried: new Set(),
      failure: isRefused ? { error: fits.error, kind: classify(fits.error), target: undefined } : undefined,
      retries: 0,
      backOffs: 0,
    };
  }

  #leave(stage: Stage): void {
    this.#stage = undefined;
    const { settings } = this.#context;
    const kind = stage.failure?.kind ?? "ours";
    if (kind === "ours" || this.#call.disableFallbacks || this.#call.pinnedDeploymentId !== undefined) {
      this.#over = true;
      return;
    }
    // Before the pending ones, because fallbacks of this group fit better; but a pending one stays in its place.
    const steps = fallbacksAfter(kind, stage.names, { call: this.#call, settings, isFirst: !stage.isFallback });
    const waiting = new Set(this.#pending.map(({ model }) => model));
    this.#pending = [...steps.filter(({ model }) => !waiting.has(model)), ...this.#pending];
  }

  /** Sets the stage's failure when none of its deployments may be called now. */
  #first(stage: Stage): Target | undefined {
    const quick = this.#quick(stage);
    if (quick) {
      this.#context.budgetOf(stage.group.configuredName).request();
      return quick;
    }
    const ready = this.#ready(stage);
    if (ready.type === "refused") {
      this.#lastError = ready.error;
      stage.failure = { error: ready.error, kind: classify(ready.error), target: undefined };
      return undefined;
    }
    this.#context.budgetOf(stage.group.configuredName).request();
    return this.#pick(stage, ready.candidates);
  }

  /** Another deployment at once; otherwise, after a back-off, one that was tried before. Undefined: this group is done. */
  async #again(stage: Stage, failure: NonNullable<Stage["failure"]>, signal: CancelSignal | undefined): Promise<Target | undefined> {
    // Not even the first attempt was possible.
    if (!failure.target) return undefined;
    const ownNumRetries = this.#call.numRetries ?? failure.target.settings.numRetries;
    const allowed = retriesAllowed({ kind: failure.kind, groupNames: stage.names, ownNumRetries }, this.#context.settings);
    if (stage.retries >= allowed) return undefined;
    const others = this.#untried(stage);
    if (others.length === 0 && needsAnother(failure.kind)) return undefined;
    if (others.length === 0 && this.#ready(stage).type === "refused") return undefined;
    const { retryAfterSeconds } = failure.error;
    const waitMs =
      others.length > 0 ? 0 : backOffMs({ backOffs: stage.backOffs, retryAfterSeconds }, this.#context.settings, this.#context.random);
    if (waitMs === undefined || !this.#context.budgetOf(stage.group.configuredName).takeRetry()) return undefined;
    if (waitMs === 0) return this.#retry(stage, others);
    await this.#wait(waitMs, signal);
    stage.backOffs++;
    stage.tried.clear();
    const ready = this.#ready(stage);
    if (ready.type === "refused") return undefined;
    const failedId = failure.target.deployment.id;
    const rested = ready.candidates.filter(({ target }) => target.deployment.id !== failedId);
    return this.#retry(stage, rested.length > 0 ? rested : ready.candidates);
  }

  #retry(stage: Stage, candidates: readonly Candidate[]): Target {
    stage.retries++;
    this.#retries++;
    return this.#pick(stage, candidates);
  }

  async #wait(milliseconds: number, signal: CancelSignal | undefined): Promise<void> {
    try {
      await this.#context.clock.sleep(milliseconds, signal);
    } catch (thrown) {
      this.#over = true;
      throw thrown;
    }
  }

  #ready(stage: Stage): ReturnType<typeof eligible> {
    const { health, settings } = this.#context;
    if (this.#call.pinnedDeploymentId !== undefined) {
      return { type: "candidates", candidates: stage.targets.map((target) => ({ target, health: health.read(target.deployment.id) })) };
    }
    const strategy = this.#strategyOf(stage);
    return eligible(stage.targets, { health, settings, strategy, tokens: this.#tokens(), groupName: stage.group.name });
  }

  /** One of many deployments, without checking each; undefined: each has to be checked. */
  #quick(stage: Stage): Target | undefined {
    const { clock, health, settings, random, affinity } = this.#context;
    if (this.#call.pinnedDeploymentId !== undefined) return undefined;
    const strategy = this.#strategyOf(stage);
    return quickPick(stage.targets, {
      ...{ health, settings, strategy, random, tokens: this.#tokens(), stream: this.#call.stream },
      nowMs: () => clock.now(),
      preferredId: () => affinity.preferred(this.#affinityCall(stage), settings),
    });
  }

  #untried(stage: Stage): readonly Candidate[] {
    const ready = this.#ready(stage);
    return ready.type === "refused" ? [] : ready.candidates.filter(({ target }) => !stage.tried.has(target.deployment.id));
  }

  #pick(stage: Stage, candidates: readonly Candidate[]): Target {
    const { affinity, settings, random } = this.#context;
    const inOrder = candidates.length === 1 ? candidates : firstInOrder(candidates);
    const preferredId = affinity.preferred(this.#affinityCall(stage), settings);
    const preferred = preferredId === undefined ? undefined : inOrder.find(({ target }) => target.deployment.id === preferredId);
    return (preferred ?? pick(this.#strategyOf(stage), { candidates: inOrder, stream: this.#call.stream, random })).target;
  }

  #begin(stage: Stage, target: Target): Attempt {
    const { health, settings } = this.#context;
    stage.tried.add(target.deployment.id);
    const attempt: Attempt = {
      deployment: target.deployment,
      group: stage.group.name,
      timeouts: timeoutsOf(target, this.#call, settings),
      isFallback: stage.isFallback,
      override: stage.step.override,
      number: ++this.#attempts,
    };
    this.#open = { attempt, stage, ticket: health.begin(target, this.#tokens()) };
    return attempt;
  }

  #strategyOf({ names }: Stage): StrategyName {
    const { strategyOfGroup, strategy } = this.#context.settings;
    if (strategyOfGroup.size === 0) return strategy;
    return names.map((name) => strategyOfGroup.get(name)).find((own) => own !== undefined) ?? strategy;
  }

  /** What the call certainly uses; the length of the answer is not known yet. */
  #tokens(): number {
    return this.#call.inputTokens;
  }

  #affinityCall(stage: Stage): AffinityCall {
    return { group: stage.group.name, keyId: this.#call.keyId, promptHash: this.#call.promptHash };
  }
}
