import { COUNTED_FEES } from "../../../common/fees.ts";
import type { Price } from "../../../common/pricing.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Provider } from "../../upstream/providers/provider.ts";
import { type Job, offerOf, providerFor } from "./job.ts";
import { listedModel } from "./listed-model.ts";

/** What planning needs to know of the deployments of a group that offer an operation. Computed once per routing table, not per call. */
export interface AbleGroup {
  readonly deployments: readonly Deployment[];
  /** One deployment for each combination of prices and limits: no other deployment would give a higher plan. */
  readonly kinds: readonly Deployment[];
  /** The largest output limit; infinite where one is not known. */
  readonly mostOutput: number;
  /** One of their models has its own limit or budget. */
  readonly isLimited: boolean;
}

type Providers = ReadonlyMap<string, Provider>;

const known = new WeakMap<Providers, WeakMap<readonly Deployment[], Map<string, AbleGroup>>>();

/** The candidates are the same list until the next routing table, so the result is cached for that list. */
export function ableGroup(providers: Providers, candidates: readonly Deployment[], job: Job<unknown>): AbleGroup {
  const offer = offerOf(job);
  const found = known.get(providers)?.get(candidates)?.get(offer);
  if (found) return found;
  const group = compile(candidates.filter((each) => providerFor(providers, job, each) !== undefined));
  const ofProviders = known.get(providers) ?? new WeakMap<readonly Deployment[], Map<string, AbleGroup>>();
  const ofCandidates = ofProviders.get(candidates) ?? new Map<string, AbleGroup>();
  known.set(providers, ofProviders.set(candidates, ofCandidates.set(offer, group)));
  return group;
}

export function outputLimitOf(deployment: Deployment): number | undefined {
  return deployment.model?.maxOutputTokens ?? listedModel(deployment)?.maxOutputTokens;
}

/** A limit or budget of the model itself: its calls are reserved one by one, whatever key makes them. */
export function hasLimit({ model }: Deployment): boolean {
  const { rpm, tpm, maxParallelRequests } = model?.limits ?? {};
  return (rpm ?? tpm ?? maxParallelRequests ?? model?.budget) !== undefined;
}

function compile(deployments: readonly Deployment[]): AbleGroup {
  const kinds = new Map<string, Deployment>();
  for (const deployment of deployments) {
    const kind = kindOf(deployment);
    if (!kinds.has(kind)) kinds.set(kind, deployment);
  }
  return {
    deployments,
    kinds: comparable([...kinds.values()]),
    mostOutput: deployments.reduce((most, each) => Math.max(most, outputLimitOf(each) ?? Number.POSITIVE_INFINITY), 0),
    isLimited: deployments.some(hasLimit),
  };
}

/** Equal for deployments whose calls are planned alike. */
function kindOf(deployment: Deployment): string {
  const limit = outputLimitOf(deployment);
  const pricing = deployment.model?.pricing;
  if (!pricing) return JSON.stringify([limit, deployment.providerKind, deployment.inferenceModelId]);
  const { unit, input, output, cachedInput, cacheWrite, cacheWriteHour, audioInput, audioOutput, webSearch, fees, tiers, images } = pricing;
  const prices = { unit, input, output, cachedInput, cacheWrite, cacheWriteHour, audioInput, audioOutput, webSearch, fees, tiers, images };
  return JSON.stringify([limit, prices], (_name, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}

/** The output limit for callers without one where the model's maximum is not known; see outputAt. */
export const MAX_OUTPUT_TOKENS_UNKNOWN = 4096;
/** With more kinds than this they are not compared one by one: the highest price of each class counts. */
const KINDS_COMPARED_MAX = 16;

/** As many kinds as can be compared with every call. Prices with tiers, or in other units than tokens, stay as they are. */
function comparable(kinds: readonly Deployment[]): readonly Deployment[] {
  if (kinds.length <= KINDS_COMPARED_MAX) return kinds;
  const plain = kinds.filter(hasPlainPrices);
  const [known, unknown] = [true, false].map((isKnown) => plain.filter((kind) => (outputLimitOf(kind) !== undefined) === isKnown));
  return [...kinds.filter((kind) => !hasPlainPrices(kind)), ...merged(known), ...merged(unknown)];
}

function hasPlainPrices({ model }: Deployment): boolean {
  return model?.pricing?.unit === "token" && model.pricing.tiers === undefined;
}

/** A deployment that is never cheaper than any of these. */
function merged(kinds: readonly Deployment[] = []): Deployment[] {
  const [first, ...others] = kinds;
  return first ? [others.reduce(dearer, first)] : [];
}

function dearer(left: Deployment, right: Deployment): Deployment {
  const [model, pricing, other] = [left.model, left.model?.pricing, right.model?.pricing];
  if (!model || !pricing || !other) return left;
  const limits = [outputLimitOf(left), outputLimitOf(right)].filter((limit) => limit !== undefined);
  // A class without its own price costs what its kind costs.
  const dearest = {
    input: highest(pricing.input, other.input),
    output: highest(pricing.output, other.output),
    cachedInput: highest(pricing.cachedInput ?? pricing.input, other.cachedInput ?? other.input),
    cacheWrite: highest(pricing.cacheWrite ?? pricing.input, other.cacheWrite ?? other.input),
    cacheWriteHour: highest(hourOf(pricing), hourOf(other)),
    audioInput: highest(pricing.audioInput ?? pricing.input, other.audioInput ?? other.input),
    audioOutput: highest(pricing.audioOutput ?? pricing.output, other.audioOutput ?? other.output),
    // Without a price at one of them the tool is refused.
    webSearch: highestOfBoth(pricing.webSearch, other.webSearch),
    fees: dearerFees(pricing, other),
  };
  const maxOutputTokens = limits.length === 0 ? undefined : Math.max(...limits);
  return { ...left, model: { ...model, maxOutputTokens, pricing: { ...pricing, ...dearest } } };
}

type PricedFees = Pick<Price, "input" | "output" | "fees">;

function dearerFees(left: PricedFees, right: PricedFees): NonNullable<Price["fees"]> {
  const counted = COUNTED_FEES.map((name) => [name, highestOfBoth(left.fees?.[name], right.fees?.[name])]);
  return {
    ...Object.fromEntries(counted),
    imageInput: highest(left.fees?.imageInput ?? left.input, right.fees?.imageInput ?? right.input),
    imageOutput: highest(left.fees?.imageOutput ?? left.output, right.fees?.imageOutput ?? right.output),
  };
}

function highestOfBoth(left: bigint | undefined, right: bigint | undefined): bigint | undefined {
  return left === undefined || right === undefined ? undefined : highest(left, right);
}

function hourOf({ input, cacheWrite, cacheWriteHour }: Pick<Price, "input" | "cacheWrite" | "cacheWriteHour">): bigint {
  return cacheWriteHour ?? cacheWrite ?? input;
}

function highest(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
