import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { NO_USAGE, type Usage } from "../../credit/pricing/usage.ts";
import type { ReportedUsage } from "../../upstream/providers/provider.ts";
import type { RouteRun } from "../../upstream/routing/route.ts";
import type { Outcome } from "../inference/bill.ts";
import type { ServedDeployment } from "../inference/call-row.ts";
import type { Job } from "../inference/job.ts";
import { createMeter } from "../inference/meter.ts";
import { planCall, pricesOf } from "../inference/plan-call.ts";
import type { InferenceDeps } from "../inference/run-inference.ts";
import { Turn } from "./turn.ts";

export interface TurnsDeps extends Pick<InferenceDeps, "credit" | "clock" | "logger" | "routing" | "providers" | "dropParams"> {
  readonly random: Random;
}

export interface TurnsOptions {
  readonly endpoint: string;
  readonly job: Job<unknown>;
  /** The caller as of now; throws when its key is no longer valid. */
  readonly callerNow: () => Caller | Promise<Caller>;
}

/**
 * The responses of one session, each a call with its own reservation, row and bill. A reservation is made before anything is sent that
 * could start a response, so that no response begins without credit.
 */
export class Turns {
  readonly #deps: TurnsDeps;
  readonly #options: TurnsOptions;
  #served: { readonly deployment: ServedDeployment; readonly route: RouteRun } | undefined;
  /** Reservations that no response uses yet. */
  readonly #armed: Turn[] = [];
  readonly #active = new Map<string, Turn>();
  /** Responses that were requested and have not begun. */
  #requested = 0;
  /** The input of the last response, and the tokens of the conversation. */
  #read: Usage = NO_USAGE;
  #contextTokens = 0;
  /** A reservation that arrives after the end is given back. */
  #isEnded = false;

  constructor(deps: TurnsDeps, options: TurnsOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  get isAnswering(): boolean {
    return this.#active.size > 0;
  }

  get activeIds(): readonly string[] {
    return [...this.#active.keys()];
  }

  servedBy(deployment: ServedDeployment, route: RouteRun): void {
    this.#served = { deployment, route };
    for (const turn of this.#armed) this.#serve(turn);
  }

  /** Before an event of the client passes. While a response runs, only a request for another one needs credit. */
  prepare({ isRequest }: { isRequest: boolean }): Promise<void> | undefined {
    const needed = isRequest ? this.#requested + 1 : this.isAnswering ? 0 : 1;
    if (this.#armed.length >= needed) {
      if (isRequest) this.#requested++;
      return undefined;
    }
    return this.arm().then(() => {
      if (isRequest) this.#requested++;
    });
  }

  /** Reserves for one more response. Admits the caller anew: the key may be revoked, or the team blocked, during a session. */
  async arm(): Promise<void> {
    const { endpoint, job } = this.#options;
    const caller = await this.#options.callerNow();
    const plan = planCall(this.#deps, { caller, job, alternatives: [], routing: { dropParams: undefined } });
    const { inputTokens, maxOutputTokens } = plan;
    const callId = newId("call", this.#deps);
    const newMeter = () => createMeter({ callId, endpoint, caller, job, inputTokens, maxOutputTokens }, this.#deps.clock);
    const input = {
      intent: newMeter().intent(plan.reserve),
      model: this.#deps.routing.groupOf(job.model, caller)?.configuredName ?? job.model,
      tokens: this.#contextTokens,
      isLimited: caller.isLimited || plan.isLimited,
    };
    const { reserved } = await this.#deps.credit.reserve(input);
    const turn = new Turn(this.#deps, { callId, newMeter, input, reserved, read: this.#read });
    if (this.#isEnded) {
      await turn.settle({ status: "cancelled" }, undefined);
      throw new AppError("UNAVAILABLE", "The session has ended.");
    }
    this.#armed.push(turn);
    this.#serve(turn);
  }

  /** A response begins. */
  async began(responseId: string): Promise<void> {
    if (this.#armed.length === 0) await this.arm();
    const turn = this.#armed.shift();
    if (!turn || this.#active.has(responseId)) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider began the same response twice.");
    if (this.#requested > 0) this.#requested--;
    turn.began();
    this.#active.set(responseId, turn);
  }

  /** False: the part is not covered by credit. */
  delivered(responseId: string, part: { text: string; audioBytes: number }): boolean | Promise<boolean> {
    return this.#active.get(responseId)?.delivered(part) ?? true;
  }

  /** The provider refused an event, which may have been a request for a response. */
  refused(): void {
    if (this.#requested > 0) this.#requested--;
  }

  async done(responseId: string, { outcome, usage }: { outcome: Outcome; usage: ReportedUsage | undefined }): Promise<void> {
    const turn = this.#active.get(responseId);
    this.#active.delete(responseId);
    const used = await turn?.settle(outcome, usage);
    if (!used || !usage) return;
    this.#read = used;
    this.#contextTokens = usage.promptTokens + usage.completionTokens;
  }

  /** The session is over: running responses end with the outcome, reservations that no response used cost nothing. */
  async end(outcome: Outcome): Promise<void> {
    this.#isEnded = true;
    const [active, armed] = [[...this.#active.values()], this.#armed.splice(0)];
    this.#active.clear();
    const unused: Outcome = outcome.status === "error" ? outcome : { status: "cancelled" };
    await Promise.all([...active.map((turn) => turn.settle(outcome, undefined)), ...armed.map((turn) => turn.settle(unused, undefined))]);
  }

  #serve(turn: Turn): void {
    if (!this.#served) return;
    const { deployment, route } = this.#served;
    const prices = pricesOf(deployment.attempt.deployment, this.#options.job);
    turn.servedBy(deployment, { retries: route.retries, fallbacks: route.fallbacks, prices });
  }
}
