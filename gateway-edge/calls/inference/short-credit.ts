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
  /** What the call holds; less than it may cost. */
  readonly reserved: bigint;
  readonly prices: Prices;
  /** The provider's; a rough one where it has none. */
  readonly counter: TokenCounter | undefined;
  readonly plan: { readonly inputTokens: number };
  readonly job: { readonly choiceCount: number };
}

/** What found less than it may cost: a stream in tokens is cut where no more can be had, all else is asked for less in the first place. */
export function isGrowingStream({ job, plan, reserved }: { job: GrowingJob; plan: { worstCase: bigint }; reserved: bigint }): boolean {
  return reserved < plan.worstCase && job.stream && isInTokens(job);
}

/** Whether its parts are text that counts in tokens, so that it can be ended anywhere. */
export function isInTokens(job: Pick<GrowingJob, "passesBytes" | "estimate">): boolean {
  return !job.passesBytes && !job.estimate;
}

type GrowingJob = Pick<Job<unknown>, "stream" | "passesBytes" | "estimate">;

/** How far ahead of what is delivered more is asked for: far enough that a stream asks seldom, not so far that others find nothing. */
const SLICE_TOKENS = 128;

/**
 * A stream that found less credit than it may cost. What it holds grows with it, slice by slice, for as long as there is more; when
 * there is none it ends, so that nothing is delivered that nobody paid for.
 */
export class ShortCredit {
  readonly #options: ShortCreditOptions;
  readonly #choices: OpenChoices;
  /** Where the provider's own way of counting is known. */
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

  /** Whether a part may be handed over. The first one always may: what was asked is paid for by then, and a token came of it. */
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

  /** The well-formed end of every choice that has none yet. */
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

  /** The tokens of everything that was delivered and of what comes next. */
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
