import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ReserveInput } from "../../credit/credit.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import { asText } from "../../upstream/providers/shared/json-fields.ts";
import { readMediaUsage } from "../../upstream/providers/shared/media-usage.ts";
import { hasLimit } from "../inference/able-group.ts";
import type { ServedDeployment } from "../inference/call-row.ts";
import type { Job } from "../inference/job.ts";
import { createMeter } from "../inference/meter.ts";
import { mayUseModel } from "../inference/model-access.ts";
import { pricesOf } from "../inference/plan-call.ts";
import { realtimeJob } from "./realtime-job.ts";
import type { TurnsDeps } from "./turns.ts";

export interface TranscriptionsOptions {
  readonly endpoint: string;
  readonly callerNow: () => Caller | Promise<Caller>;
  /** Of the session's own deployment: the transcription runs at the same provider. */
  readonly providerKind: string;
}

/** Sound that was committed is transcribed, if the session asks for transcripts. */
const EVENT = /^(?:conversation\.item\.input_audio_transcription|input_audio_buffer)\.(committed|delta|completed|failed)$/;
const COMPLETED = "completed";
const ENDS: readonly string[] = [COMPLETED, "failed"];
/** More than a client has at once. A provider that never ends them must not take memory. */
const UNDER_WAY_MAX = 100;

/** Transcripts of the client's sound, which a session may ask for. The provider bills them by another model than the session's. */
export class Transcriptions {
  readonly #deps: TurnsDeps;
  readonly #options: TranscriptionsOptions;
  #chosen: { readonly job: Job<never>; readonly deployment: Deployment; readonly caller: Caller } | undefined;
  readonly #underWay = new Set<string>();

  constructor(deps: TurnsDeps, options: TranscriptionsOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The provider's name of a model of the gateway; throws where the caller may not use it or it has no price. */
  async choose(model: string): Promise<string> {
    const caller = await this.#options.callerNow();
    const job = transcriptionJob(model);
    const { routing } = this.#deps;
    const deployment = routing.candidates(model, caller).find(({ providerKind }) => providerKind === this.#options.providerKind);
    if (!deployment || !mayUseModel(caller, model, routing)) {
      throw new AppError("INVALID_REQUEST", `The transcription model ${model} is not a model of this gateway at the session's provider.`);
    }
    if (!pricesOf(deployment, job)) throw new AppError("INVALID_REQUEST", `The transcription model ${model} has no price yet.`);
    this.#chosen = { job, deployment, caller };
    return deployment.inferenceModelId;
  }

  /** Whether the provider makes a transcript that it has not reported yet. */
  get isMaking(): boolean {
    return this.#underWay.size > 0;
  }

  /**
   * An event of the provider. Undefined if it is not about a transcript; otherwise it is passed on when what it says is settled. Resolves with why no
   * more of them is covered: a session may go on without any response, which would be refused.
   */
  reported(type: string, event: Fields): Promise<AppError | undefined> | undefined {
    const state = EVENT.exec(type)?.[1];
    if (state === undefined) return undefined;
    return this.#settled(state, event).finally(() => this.#follow(state, asText(event["item_id"]) ?? ""));
  }

  #follow(state: string, itemId: string): void {
    if (ENDS.includes(state)) this.#underWay.delete(itemId);
    else if (this.#chosen && this.#underWay.size < UNDER_WAY_MAX) this.#underWay.add(itemId);
  }

  /** The cost of a finished transcript is known, so it is reserved and settled at once. */
  async #settled(state: string, event: Fields): Promise<AppError | undefined> {
    if (state !== COMPLETED) return undefined;
    const usage = readMediaUsage(event);
    if (!this.#chosen || !usage) return undefined;
    const { job, deployment } = this.#chosen;
    const { caller, refusal } = await this.#payer(this.#chosen.caller);
    const provider = this.#deps.providers.get(deployment.providerKind);
    if (!provider) return refusal;
    const call = { callId: newId("call", this.#deps), endpoint: this.#options.endpoint, caller, job, inputTokens: 0, maxOutputTokens: 0 };
    const meter = createMeter(call, this.#deps.clock);
    const served: ServedDeployment = { attempt: { deployment, group: job.model, isFallback: false }, provider };
    meter.servedBy(served, { retries: 0, fallbacks: 0 });
    meter.reported(usage);
    const bill = await meter.bill();
    const isLimited = caller.isLimited || hasLimit(deployment);
    // Its turn is the call that limits count.
    const input: ReserveInput = { intent: meter.intent(bill.cost), model: job.model, tokens: 0, isLimited, isUncounted: true };
    const { reserved, uncovered } = await this.#reserve(input);
    await this.#deps.credit.settle(meter.log({ status: "success" }, bill, reserved));
    return refusal ?? uncovered;
  }

  /** A key that was revoked since it asked for transcripts pays for those that were made. */
  async #payer(before: Caller): Promise<{ caller: Caller; refusal?: AppError }> {
    try {
      return { caller: await this.#options.callerNow() };
    } catch (thrown) {
      if (thrown instanceof AppError) return { caller: before, refusal: thrown };
      throw thrown;
    }
  }

  /** The transcript is made, so it is billed also where nothing can be reserved. */
  async #reserve(input: ReserveInput): Promise<{ reserved: bigint; uncovered?: AppError }> {
    try {
      return { reserved: (await this.#deps.credit.reserve(input)).reserved };
    } catch (thrown) {
      if (thrown instanceof AppError) return { reserved: 0n, uncovered: thrown };
      throw thrown;
    }
  }
}

function transcriptionJob(model: string): Job<never> {
  const amount = { input: 0, output: 0 };
  return { ...realtimeJob(model), operation: "transcriptions", most: { millisecond: amount } };
}
