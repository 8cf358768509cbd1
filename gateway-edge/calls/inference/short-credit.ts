import type { Credit, ReserveInput } from "../../credit/credit.ts";
import { cost, type Prices } from "../../credit/pricing/price.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import type { BytesPart, StreamPart, TokenCounter } from "../../upstream/providers/provider.ts";
import { DeliveredText } from "../tokens/delivered-text.ts";
import { roughTokens } from "../tokens/tokens.ts";
import type { Job } from "./job.ts";
import { OpenChoices } from "./open-choices.ts";
import { ownCounter } from "./text-counters.ts";

export interface ShortCreditOptions {
  readonly credit: Pick<Credit, "grow">;
  readonly input: ReserveInput;
  /** The reservation; less than the worst case. */
  readonly reserved: bigint;
  readonly prices: Prices;
  /** The provider's own; a rough one where it has none. */
  readonly counter: TokenCounter | undefined;
  readonly plan: { readonly inputTokens: number };
  readonly job: { readonly choiceCount: number };
}

/**
 * With less credit than the worst case, a stream in tokens grows its reservation and is cut where there is no more; every other job is sent
 * a lower output limit.
 */
export function isGrowingStream({ job, plan, reserved }: { job: GrowingJob; plan: { worstCase: bigint }; reserved: bigint }): boolean {
  return reserved < plan.worstCase && job.stream && isInTokens(job);
}

/** Whether the parts are text counted in tokens, so that the stream can end anywhere. */
export function isInTokens(job: Pick<GrowingJob, "passesBytes" | "estimate">): boolean {
  return !job.passesBytes && !job.estimate;
}

type GrowingJob = Pick<Job<unknown>, "stream" | "passesBytes" | "estimate">;

/** How far ahead of delivery more credit is requested: far enough that a stream asks seldom, not so far that other calls find none. */
const SLICE_TOKENS = 128;

/**
 * A stream with less credit than its worst case. Its reservation grows in slices while there is credit; when there is none the stream ends,
 * so that no unpaid output is delivered.
 */
export class ShortCredit {
  readonly #options: ShortCreditOptions;
  readonly #choices: OpenChoices;
  /** Set where the provider's own counter is known. */
  readonly #text: DeliveredText | undefined;
  #bytes = 0;
  #isBegun = false;
  #reserved: bigint;

  constructor(options: ShortCreditOptions) {
    this.#options = options;
    this.#reserved = options.reserved;
    const { choiceCount } = options.job;
    this.#choices = new OpenChoices(choiceCount);
    this.#text = options.counter && new DeliveredText(ownCounter(options.counter), { choiceCount, whole: [] });
  }

  /** Whether a part may be delivered. The first part always may: its input is already paid for and a token has arrived. */
  covers(part: StreamPart | BytesPart): boolean | Promise<boolean> {
    this.#choices.received(part);
    if (part.type !== "text-delta" && part.type !== "other-delta") return true;
    const isFirst = !this.#isBegun;
    this.#isBegun = true;
    const output = this.#outputWith(part);
    const due = this.#costOf(output);
    if (due <= this.#reserved) return true;
    return this.#grow(due, output).then((isCovered) => isCovered || isFirst);
  }

  /** A well-formed finish for every choice without one. */
  endings(): ReturnType<OpenChoices["endings"]> {
    return this.#choices.endings("credits_used_up");
  }

  async #grow(due: bigint, output: number): Promise<boolean> {
    const { credit, input } = this.#options;
    const slice = this.#costOf(output + SLICE_TOKENS);
    const { worstCase } = input.intent;
    const wanted = slice < worstCase || worstCase < due ? slice : worstCase;
    this.#reserved += await credit.grow(input, wanted - this.#reserved);
    return due <= this.#reserved;
  }

  /** The tokens of everything delivered and of the next part. */
  #outputWith({ choice, text }: { choice: number; text: string }): number {
    if (!this.#text) {
      this.#bytes += Buffer.byteLength(text);
      return roughTokens(this.#bytes);
    }
    this.#text.add(choice, text);
    return this.#text.soFar(Number.POSITIVE_INFINITY);
  }

  #costOf(output: number): bigint {
    return cost({ ...NO_USAGE, input: this.#options.plan.inputTokens, output }, this.#options.prices);
  }
}
