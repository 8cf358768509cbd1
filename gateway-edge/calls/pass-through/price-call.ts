import { FEES, type FeeAmount, type FeeCounts } from "../../../common/fees.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { Deployment as DeploymentMessage } from "../../../proto/gen/tributary/access/v1/access.ts";
import { type Prices, worstCaseCost } from "../../credit/pricing/price.ts";
import { feesAt } from "../inference/deployment-fees.ts";
import { chatFeesOf } from "../inference/jobs/tool-fees.ts";
import { listedModel } from "../inference/listed-model.ts";
import { RESERVED_OUTPUT_TOKENS_MAX } from "../inference/plan-call.ts";
import { roughCounter } from "../tokens/tokens.ts";
import type { Upstream } from "./upstreams.ts";

/** What is known of a proxied call before it is sent. */
export interface PricedCall {
  /** As the provider names it. */
  readonly model: string | undefined;
  readonly deployment: Deployment | undefined;
  /** Undefined: its price is not known. */
  readonly prices: Prices | undefined;
  readonly inputTokens: number;
  readonly worstCase: bigint;
  readonly stream: boolean;
  /** The body; undefined: it is no JSON object. */
  readonly fields: Json | undefined;
  /** What the provider bills beside the tokens; undefined: nothing. */
  readonly beside: BilledBeside | undefined;
}

export interface BilledBeside {
  /** As people read it. */
  readonly what: string;
  /** The field of the request that causes it; undefined: one of a single provider's. */
  readonly param: "tools" | "model" | undefined;
  /** Whether calls that do not pass through are billed for it. */
  readonly isBilledElsewhere: boolean;
}

const MAX_OUTPUT_TOKENS_UNKNOWN = 4096;
type Json = Readonly<Record<string, unknown>>;

/** The model in the body or the path, its price, and the worst case by the size of the request. */
export function priceCall(upstream: Upstream, { path, body, isFree }: { path: string; body: Buffer; isFree: boolean }): PricedCall {
  const given = jsonOf(body);
  const fields = given ?? {};
  const model = typeof fields["model"] === "string" ? fields["model"] : modelInPath(path);
  const own = upstream.deployments.find(({ inferenceModelId, modelName }) => inferenceModelId === model || modelName === model);
  // A model without a deployment may still be on the public price list.
  const named = own ?? (model === undefined ? undefined : unconfigured(upstream.row.kind, model));
  const prices = named && tokenPrices(named);
  const inputTokens = roughCounter.countText(body.toString("latin1"));
  const limit = named?.model?.maxOutputTokens ?? (named && listedModel(named)?.maxOutputTokens);
  // The provider validates the caller's limit; the reservation for it is capped all the same.
  const output = Math.min(outputOf(fields) ?? limit ?? MAX_OUTPUT_TOKENS_UNKNOWN, limit ?? RESERVED_OUTPUT_TOKENS_MAX);
  const choices = typeof fields["n"] === "number" ? Math.max(1, Math.min(128, fields["n"])) : 1;
  const worstCase = isFree || !prices ? 0n : worstCaseCost({ input: inputTokens, output: output * choices }, prices);
  return {
    model,
    deployment: own,
    prices: isFree ? undefined : prices,
    inputTokens,
    worstCase,
    stream: fields["stream"] === true,
    fields: given,
    beside: googleToolIn(fields) ?? feeIn(fields) ?? (named && feeOfModel(named, model)),
  };
}

/** Google's tools have no type: each is a field. */
const GOOGLE_TOOLS = /^google_?(search|maps)/i;

function googleToolIn({ tools }: Json): BilledBeside | undefined {
  const name = toolsIn(tools)
    .flatMap((tool) => Object.keys(tool))
    .find((each) => GOOGLE_TOOLS.test(each));
  return name === undefined ? undefined : { what: `the tool ${name}`, param: "tools", isBilledElsewhere: false };
}

function feeIn(fields: Json): BilledBeside | undefined {
  const { search_parameters, plugins, guardrailConfig } = fields;
  const fees = chatFeesOf({ tools: toolsIn(fields["tools"]), search_parameters, plugins, guardrailConfig });
  return besideOf(fees, fields["tools"] === undefined ? undefined : "tools");
}

/** Models of which every call causes a fee, such as those that always search. The provider gets the name that the client sent. */
function feeOfModel(named: Deployment, model = named.inferenceModelId): BilledBeside | undefined {
  return besideOf(feesAt(named, undefined) ?? feesAt(unconfigured(named.providerKind, model), undefined), "model");
}

function besideOf(fees: FeeCounts | undefined, param: BilledBeside["param"]): BilledBeside | undefined {
  const name = (Object.keys(fees ?? {}) as FeeAmount[]).find((each) => (fees?.[each] ?? 0) > 0);
  return name && { what: name === "search" ? "web searches" : FEES[name].what, param, isBilledElsewhere: true };
}

/** Google also takes a single tool that is not in a list. */
function toolsIn(tools: unknown): readonly Json[] {
  return (Array.isArray(tools) ? tools : [tools]).filter((tool): tool is Json => typeof tool === "object" && tool !== null);
}

function unconfigured(providerKind: string, inferenceModelId: string): Deployment {
  return DeploymentMessage.fromPartial({ providerKind, inferenceModelId });
}

function tokenPrices(deployment: Deployment): Prices | undefined {
  const pricing = deployment.model?.pricing;
  if (pricing) return pricing.unit === "token" ? (pricing as Prices) : undefined;
  return listedModel(deployment)?.pricing;
}

function modelInPath(path: string): string | undefined {
  const match = /\/(?:models|deployments|engines)\/([^/:?]+)/.exec(path);
  return match?.[1] === undefined ? undefined : decodeURIComponent(match[1]);
}

function outputOf(fields: Json): number | undefined {
  const config = fields["generationConfig"];
  const inner = typeof config === "object" && config !== null ? (config as Json)["maxOutputTokens"] : undefined;
  const given = [fields["max_completion_tokens"], fields["max_tokens"], fields["max_output_tokens"], inner];
  return given.find((value): value is number => typeof value === "number" && Number.isSafeInteger(value) && value >= 0);
}

function jsonOf(body: Buffer): Json | undefined {
  try {
    const value = JSON.parse(body.toString("utf8")) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
