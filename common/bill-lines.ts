import { COUNTED_FEES, FEES, type FeeAmount } from "./fees.ts";

type Count = number | bigint;

/** The usage of a call as its receipt holds it. */
export interface BilledUsage {
  readonly input: Count;
  readonly cachedInput: Count;
  readonly cacheWrite: Count;
  readonly cacheWriteHour?: Count | undefined;
  readonly output: Count;
  readonly reasoning: Count;
  readonly audio: Count;
  readonly audioOutput?: Count | undefined;
  readonly amounts?: Readonly<Record<string, { readonly input: Count; readonly output: Count }>> | undefined;
  readonly image?: string | undefined;
}

/** The prices of a call as its receipt holds them, in nano-USD per 1,000,000. */
export interface BilledPrices {
  readonly unit: string;
  readonly input: bigint;
  readonly output: bigint;
  readonly cachedInput?: bigint | null | undefined;
  readonly cacheWrite?: bigint | null | undefined;
  readonly cacheWriteHour?: bigint | null | undefined;
  readonly audioInput?: bigint | null | undefined;
  readonly audioOutput?: bigint | null | undefined;
  readonly webSearch?: bigint | null | undefined;
  readonly fees?: Readonly<Record<string, bigint>> | undefined;
}

/** One charge of a call. */
export interface BillLine {
  /** The class of tokens, the unit or the fee. */
  readonly name: string;
  /** As people read it. */
  readonly title: string;
  readonly amount: bigint;
  /** Nano-USD per 1,000,000 of them. */
  readonly price: bigint;
  /** Nano-USD × 1,000,000: exact. The call's cost is the sum of its lines, rounded up once. */
  readonly unrounded: bigint;
}

/** A call's bill line by line. Empty lines are left out. */
export function billLines(usage: BilledUsage, prices: BilledPrices): BillLine[] {
  const lines = prices.unit === "token" ? [...tokenLines(usage, prices), ...feeLines(usage, prices)] : unitLines(usage, prices);
  return lines.filter(({ amount }) => amount > 0n).map((each) => ({ ...each, unrounded: each.amount * each.price }));
}

type Line = Omit<BillLine, "unrounded">;

const line = (name: string, title: string, amount: bigint, price: bigint): Line => ({ name, title, amount, price });

/** Image tokens are a part of input and output, and have lines of their own. */
function tokenLines(usage: BilledUsage, prices: BilledPrices): Line[] {
  const images = usage.amounts?.["imageToken"] ?? { input: 0n, output: 0n };
  const [imageInput, imageOutput] = [BigInt(images.input), BigInt(images.output)];
  const [hour, audioOutput] = [BigInt(usage.cacheWriteHour ?? 0), BigInt(usage.audioOutput ?? 0)];
  const write = prices.cacheWrite ?? prices.input;
  return [
    line("input", "input", BigInt(usage.input) - imageInput, prices.input),
    line("imageInput", FEES.imageInput.what, imageInput, prices.fees?.["imageInput"] ?? prices.input),
    line("cachedInput", "cached input", BigInt(usage.cachedInput), prices.cachedInput ?? prices.input),
    line("cacheWrite", "cache write", BigInt(usage.cacheWrite) - hour, write),
    line("cacheWriteHour", "cache write, 1 hour", hour, prices.cacheWriteHour ?? write),
    line("audioInput", "audio input", BigInt(usage.audio) - audioOutput, prices.audioInput ?? prices.input),
    line("output", "output", BigInt(usage.output) - imageOutput, prices.output),
    line("imageOutput", FEES.imageOutput.what, imageOutput, prices.fees?.["imageOutput"] ?? prices.output),
    line("reasoning", "reasoning", BigInt(usage.reasoning), prices.output),
    line("audioOutput", "audio output", audioOutput, prices.audioOutput ?? prices.output),
  ];
}

function feeLines({ amounts = {} }: BilledUsage, { webSearch, fees = {} }: BilledPrices): Line[] {
  const amountOf = (name: FeeAmount) => BigInt(amounts[name]?.input ?? 0);
  return [
    line("search", "web searches", amountOf("search"), webSearch ?? 0n),
    ...COUNTED_FEES.map((name) => line(name, FEES[name].what, amountOf(name), fees[name] ?? 0n)),
  ];
}

/** A model that is priced by another unit is billed in nothing else. A call is counted once. */
function unitLines({ amounts = {}, image }: BilledUsage, { unit, input, output }: BilledPrices): Line[] {
  const amount = amounts[unit] ?? { input: unit === "call" ? 1 : 0, output: 0 };
  const made = unit === "image" && image !== undefined ? `images, output, ${image}` : `${unit}s, output`;
  return [line(unit, `${unit}s, input`, BigInt(amount.input), input), line(unit, made, BigInt(amount.output), output)];
}
