import type { TokenUsage } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Amounts, ReportedUsage } from "../../upstream/providers/provider.ts";

/** Tokens in disjoint classes: each token is in exactly one, and the classes add up to the provider's total. */
export interface Usage {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** Of `cacheWrite`: those that are stored for an hour. */
  readonly cacheWriteHour?: number;
  readonly output: number;
  readonly reasoning: number;
  /** Audio tokens, where the provider reports them separately. */
  readonly audioInput: number;
  readonly audioOutput: number;
  /** The same call in other units than tokens, for models that are priced by them; web searches are beside the tokens. */
  readonly amounts?: Amounts | undefined;
  /** The size and quality of the images that it made, such as `hd/1024x1792`. */
  readonly image?: string | undefined;
  /** `estimated`: the provider did not report usage, the gateway counted. */
  readonly source: "provider" | "estimated";
}

export const NO_USAGE: Usage = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
  audioInput: 0,
  audioOutput: 0,
  source: "estimated",
};

/** A provider's report split into classes. A part larger than its whole is cut to it, so that the sum stays the provider's total. */
export function disjointUsage(reported: ReportedUsage): Usage {
  const cachedInput = Math.min(reported.cachedTokens, reported.promptTokens);
  const cacheWrite = Math.min(reported.cacheWriteTokens, reported.promptTokens - cachedInput);
  const audioInput = Math.min(reported.audioPromptTokens ?? 0, reported.promptTokens - cachedInput - cacheWrite);
  const reasoning = Math.min(reported.reasoningTokens, reported.completionTokens);
  const audioOutput = Math.min(reported.audioCompletionTokens ?? 0, reported.completionTokens - reasoning);
  const input = reported.promptTokens - cachedInput - cacheWrite - audioInput;
  const output = reported.completionTokens - reasoning - audioOutput;
  return {
    input,
    cachedInput,
    cacheWrite,
    output,
    reasoning,
    audioInput,
    audioOutput,
    ...besideTokens(reported, { cacheWrite, input, output }),
    source: "provider",
  };
}

/** Tokens as the gateway counts them. */
export interface Counted {
  readonly input: number;
  readonly output: number;
}

/**
 * The usage of a stream whose end was not delivered: what was delivered by the gateway's count, and what its provider's report, if it came
 * later, says of the request and of hidden reasoning.
 */
export function usageUpTo(late: ReportedUsage | undefined, { input, output }: Counted, fees: Amounts | undefined): Usage {
  if (!late) return { ...NO_USAGE, input, output, amounts: fees };
  const promptTokens = late.lacksPrompt ? input : late.promptTokens;
  const completionTokens = Math.min(output + late.reasoningTokens, late.completionTokens);
  return { ...disjointUsage({ ...late, promptTokens, completionTokens }), source: "estimated" };
}

type OfTokens = Pick<Usage, "cacheWrite" | "input" | "output">;

function besideTokens(reported: ReportedUsage, { cacheWrite, input, output }: OfTokens): Pick<Usage, "cacheWriteHour" | "amounts"> {
  const { cacheWriteHourTokens = 0, imagePromptTokens = 0, imageCompletionTokens = 0, amounts } = reported;
  const imageToken = { input: Math.min(imagePromptTokens, input), output: Math.min(imageCompletionTokens, output) };
  const hasImages = imageToken.input + imageToken.output > 0;
  return {
    ...(cacheWriteHourTokens > 0 && { cacheWriteHour: Math.min(cacheWriteHourTokens, cacheWrite) }),
    ...((amounts || hasImages) && { amounts: { ...amounts, ...(hasImages && { imageToken }) } }),
  };
}

export function inputTokens(usage: Usage): number {
  return usage.input + usage.cachedInput + usage.cacheWrite + usage.audioInput;
}

export function totalTokens(usage: Usage): number {
  return inputTokens(usage) + usage.output + usage.reasoning + usage.audioOutput;
}

/** As usage rows hold it. */
export function toWireUsage(usage: Usage): TokenUsage {
  const audio = usage.audioInput + usage.audioOutput;
  return {
    input: BigInt(usage.input),
    cachedInput: BigInt(usage.cachedInput),
    cacheWrite: BigInt(usage.cacheWrite),
    output: BigInt(usage.output),
    reasoning: BigInt(usage.reasoning),
    audio: BigInt(audio),
    total: BigInt(totalTokens(usage)),
    source: usage.source,
    audioOutput: audio > 0 ? BigInt(usage.audioOutput) : undefined,
    cacheWriteHour: usage.cacheWriteHour === undefined ? undefined : BigInt(usage.cacheWriteHour),
    amounts: usage.amounts && wireAmounts(usage.amounts),
    image: usage.image,
  };
}

function wireAmounts(amounts: Amounts): TokenUsage["amounts"] {
  const units = Object.entries(amounts).map(([unit, { input, output }]) => ({ unit, input: BigInt(input), output: BigInt(output) }));
  return units.length > 0 ? { amounts: units } : undefined;
}
