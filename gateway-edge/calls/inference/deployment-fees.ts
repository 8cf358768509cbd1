import { type FeeAmount, type FeeCounts, feePrice } from "../../../common/fees.ts";
import type { Price } from "../../../common/pricing.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Amounts } from "../../upstream/providers/provider.ts";
import { targetOf } from "../../upstream/target.ts";
import { GUARDRAIL_UNITS_USUAL } from "./jobs/tool-fees.ts";

const known = new WeakMap<Deployment, { readonly fees: FeeCounts | undefined }>();

/** The most that a call can cause, by its request and by the deployment itself; undefined: nothing. */
export function feesAt(deployment: Deployment, asked: FeeCounts | undefined): FeeCounts | undefined {
  const own = ownFees(deployment);
  return asked && own ? { ...asked, ...own } : (asked ?? own);
}

function ownFees(deployment: Deployment): FeeCounts | undefined {
  const found = known.get(deployment);
  if (found) return found.fees;
  const fees = readFees(deployment);
  known.set(deployment, { fees });
  return fees;
}

/** What every call of a deployment causes: OpenAI's search models search, Perplexity bills requests, Bedrock the operator's guardrail. */
function readFees(deployment: Deployment): FeeCounts | undefined {
  const { providerKind, inferenceModelId } = deployment;
  const search = /^(openai|azure)$/.test(providerKind) ? /-search-(preview|api)/.exec(inferenceModelId)?.[1] : undefined;
  if (search) return search === "api" ? { search: 1 } : { webSearchPreview: 1 };
  if (providerKind === "perplexity" && /sonar/.test(inferenceModelId)) {
    return /deep-research/.test(inferenceModelId) ? { search: 30 } : { requestHigh: 1 };
  }
  return providerKind === "bedrock" && targetOf(deployment).params["guardrailConfig"]
    ? { guardrailUnit: GUARDRAIL_UNITS_USUAL }
    : undefined;
}

/** One of these that has no price; undefined: all have. */
export function unpricedFee(fees: FeeCounts, prices: Pick<Price, "webSearch" | "fees">): FeeAmount | undefined {
  return namesIn(fees).find((name) => (fees[name] ?? 0) > 0 && feePrice(name, prices) === undefined);
}

/** As amounts, for each of so many requests. */
export function feeAmounts(fees: FeeCounts, requests: number): Amounts {
  return Object.fromEntries(namesIn(fees).map((name) => [name, { input: (fees[name] ?? 0) * requests, output: 0 }]));
}

function namesIn(fees: FeeCounts): FeeAmount[] {
  return Object.keys(fees) as FeeAmount[];
}
