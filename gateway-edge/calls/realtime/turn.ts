import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import type { PriceMessage } from "../../../common/pricing.ts";
import type { Credit, ReserveInput } from "../../credit/credit.ts";
import { NO_USAGE, type Usage } from "../../credit/pricing/usage.ts";
import type { ReportedUsage } from "../../upstream/providers/provider.ts";
import { type Bill, billOf, type Outcome } from "../inference/bill.ts";
import { rounded, type ServedDeployment } from "../inference/call-row.ts";
import type { Meter } from "../inference/meter.ts";
import { textCounterOf } from "../inference/text-counters.ts";
import { roughTokens } from "../tokens/tokens.ts";

export interface TurnDeps {
  readonly credit: Pick<Credit, "grow" | "progress" | "served" | "settle">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TurnOptions {
  readonly callId: string;
  /** Starts a measurement. */
  readonly newMeter: () => Meter;
  readonly input: ReserveInput;
  readonly reserved: bigint;
  /** What a response without a report is assumed to have read: as the one before it. */
  readonly read: Usage;
}

/** Sound of a response has 20 tokens a second; a second of 24 kHz PCM16 has 48,000 bytes. */
const BYTES_PER_AUDIO_TOKEN = 2400;
const PROGRESS_MS = 250;
const NO_BYTES = new Uint8Array(0);

/** One response of a session: it has its reservation and owes its settlement. */
export class Turn {
  readonly #deps: TurnDeps;
  readonly #options: TurnOptions;
  #meter: Meter;
  #served: ServedDeployment | undefined;
  #prices: PriceMessage | undefined;
  #route = { retries: 0, fallbacks: 0 };
  #reserved: bigint;
  #text = "";
  #audioBytes = 0;
  #notedMs = 0;
  #isSettled = false;

  constructor(deps: TurnDeps, options: TurnOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#meter = options.newMeter();
    this.#reserved = options.reserved;
  }

  /** The deployment that answers, and its prices. */
  servedBy(
    served: ServedDeployment,
    { retries, fallbacks, prices }: { retries: number; fallbacks: number; prices: PriceMessage | undefined },
  ): void {
    this.#served = served;
    this.#prices = prices;
    this.#route = { retries, fallbacks };
    this.#meter.servedBy(served, this.#route);
    this.#deps.credit.served(this.#meter.served(served));
  }

  /** The response begins now: the time since the reservation was the client's. */
  began(): void {
    this.#meter = this.#options.newMeter();
    if (this.#served) this.#meter.servedBy(this.#served, this.#route);
  }

  /** Counts a part of the answer. False: it is not covered by credit, and must not be delivered. */
  delivered({ text, audioBytes }: { text: string; audioBytes: number }): boolean | Promise<boolean> {
    this.#meter.delivered({ type: "bytes", bytes: NO_BYTES });
    this.#text += text;
    this.#audioBytes += audioBytes;
    const usage = this.#usageWith(roughTokens(Buffer.byteLength(this.#text)));
    const elapsedMs = this.#meter.elapsedMs();
    if (elapsedMs - this.#notedMs >= PROGRESS_MS) {
      this.#notedMs = elapsedMs;
      this.#deps.credit.progress({
        callId: this.#options.callId,
        elapsedMs: Math.round(elapsedMs),
        firstTokenMs: rounded(this.#meter.firstTokenMs()),
        usage,
      });
    }
    const due = billOf(usage, this.#prices, 1).cost;
    return due <= this.#reserved || this.#grow(due);
  }

  /** Bills by the provider's report, or for what was delivered where there is none. Once. */
  async settle(outcome: Outcome, reported: ReportedUsage | undefined): Promise<Usage | undefined> {
    if (this.#isSettled) return undefined;
    this.#isSettled = true;
    const meter = this.#meter;
    const { callId } = this.#options;
    if (reported) meter.reported(reported);
    const disbelieved = meter.disbelieved();
    if (disbelieved) {
      this.#deps.logger.warn({ callId, ...disbelieved }, "the provider's usage is not believed; the response is billed by our own count");
    }
    const bill: Bill = reported && !disbelieved ? await meter.bill() : billOf(await this.#counted(), this.#prices, 1);
    // The gateway only passes events on: all time is the client's and the provider's.
    meter.waited(meter.overheadMs());
    await this.#deps.credit.settle(meter.log(outcome, bill, this.#reserved));
    return bill.usage;
  }

  async #grow(due: bigint): Promise<boolean> {
    this.#reserved += await this.#deps.credit.grow(this.#options.input, due - this.#reserved);
    return due <= this.#reserved;
  }

  /** Of a response of which nothing was delivered, nothing is billed. */
  async #counted(): Promise<Usage> {
    if (this.#text === "" && this.#audioBytes === 0) return NO_USAGE;
    return this.#usageWith(await textCounterOf(this.#served).count(this.#text));
  }

  #usageWith(textTokens: number): Usage {
    const { input, cachedInput, audioInput } = this.#options.read;
    const output = { output: textTokens, audioOutput: Math.ceil(this.#audioBytes / BYTES_PER_AUDIO_TOKEN) };
    return { ...NO_USAGE, input, cachedInput, audioInput, ...output };
  }
}
