import type { Credit, ReserveInput } from "../credit/credit.ts";
import type { BytesPart, StreamPart, TokenCounter } from "../providers/provider.ts";
import type { Job } from "./job.ts";
import { OpenChoices } from "./open-choices.ts";
import { cost, type Prices } from "./price.ts";
import { roughCounter } from "./tokens.ts";
import { NO_USAGE } from "./usage.ts";

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
  readonly #texts = new Map<number, string[]>();
  readonly #counter: TokenCounter;
  #reserved: bigint;
  #output = 0;

  constructor(options: ShortCreditOptions) {
    this.#options = options;
    this.#reserved = options.reserved;
    this.#counter = options.counter ?? roughCounter;
    this.#choices = new OpenChoices(options.job.choiceCount);
  }

  /** Whether a part may be handed over. The first one always may: what was asked is paid for by then, and a token came of it. */
  covers(part: StreamPart | BytesPart): boolean | Promise<boolean> {
    this.#choices.heard(part);
    if (part.type !== "text-delta" && part.type !== "other-delta") return true;
    const isFirst = this.#texts.size === 0;
    const texts = this.#texts.get(part.choice) ?? [];
    this.#texts.set(part.choice, texts);
    texts.push(part.text);
    this.#output += this.#counter.countText(part.text);
    if (this.#costOf(this.#output) <= this.#reserved) return true;
    // Pieces sum up to more than the whole counts, and the whole is what is billed.
    this.#output = this.#countAll();
    const due = this.#costOf(this.#output);
    if (due <= this.#reserved) return true;
    return this.#grow(due).then((isCovered) => isCovered || isFirst);
  }

  /** The well-formed end of every choice that has none yet. */
  endings(): ReturnType<OpenChoices["endings"]> {
    return this.#choices.endings("credits_used_up");
  }

  async #grow(due: bigint): Promise<boolean> {
    const { credit, input } = this.#options;
    const slice = this.#costOf(this.#output + SLICE_TOKENS);
    const { worstCase } = input.intent;
    const wanted = slice < worstCase || worstCase < due ? slice : worstCase;
    this.#reserved += await credit.grow(input, wanted - this.#reserved);
    return due <= this.#reserved;
  }

  #countAll(): number {
    return [...this.#texts.values()].reduce((sum, texts) => sum + this.#counter.countText(texts.join("")), 0);
  }

  #costOf(output: number): bigint {
    return cost({ ...NO_USAGE, input: this.#options.plan.inputTokens, output }, this.#options.prices);
  }
}
