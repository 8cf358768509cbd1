import { FEES, type FeeAmount, type FeeCounts } from "../../../common/fees.ts";
import type { PriceMessage, PriceUnit } from "../../../common/pricing.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { Deployment as DeploymentMessage } from "../../../proto/gen/tributary/access/v1/access.ts";
import { worstCaseCost } from "../../credit/pricing/price.ts";
import { dearestPrices } from "../../credit/pricing/price-tier.ts";
import { asFields, asList } from "../../upstream/providers/shared/json-fields.ts";
import { MAX_OUTPUT_TOKENS_UNKNOWN, outputLimitOf } from "../inference/able-group.ts";
import { feesAt } from "../inference/deployment-fees.ts";
import { chatFeesOf } from "../inference/jobs/tool-fees.ts";
import { listedPrices } from "../inference/listed-model.ts";
import { RESERVED_OUTPUT_TOKENS_MAX } from "../inference/plan-call.ts";
import { parseJson } from "../read-body.ts";
import { roughCounter, roughTokens, withoutBinaries } from "../tokens/tokens.ts";
import { type NamedByPath, type ProxiedOperation, readPath } from "./operations.ts";
import type { Upstream } from "./upstreams.ts";

/** What is known of a proxied call before it is sent. */
export interface PricedCall extends NamedByPath {
  /** Another model that the body names: the provider would answer with one of them. */
  readonly otherModel: string | undefined;
  readonly deployment: Deployment | undefined;
  /** Undefined: it costs nothing, or its price is not known. */
  readonly prices: PriceMessage | undefined;
  /** What the model is priced by. */
  readonly unit: PriceUnit | undefined;
  readonly inputTokens: number;
  /** The most output that such a request can have, whatever limit it sets. */
  readonly outputMax: number;
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

type Json = Readonly<Record<string, unknown>>;

/** The model in the path, else in the body, its price, and the worst case by the size of the request. */
export function priceCall(upstream: Upstream, request: { pathname: string; body: Buffer; isFree: boolean }): PricedCall {
  const { pathname, body, isFree } = request;
  const named = readPath(pathname, upstream.root.pathname);
  const given = withoutModel(jsonOf(body), named.model);
  const fields = given ?? {};
  const operation = isFree ? "free" : named.operation;
  const [model, ...others] = [named.model, ...modelsIn(fields)].filter((name) => name !== undefined);
  const { own, known, pricing } = modelAt(upstream, model);
  const unit = pricing && (pricing.unit ?? "token");
  const prices = operation === "free" || unit !== "token" ? undefined : pricing;
  const inputTokens = given ? roughCounter.countText(JSON.stringify(given, withoutBinaries)) : roughTokens(body.length);
  const { reserved, most } = outputOf(fields, operation, known && outputLimitOf(known));
  return {
    model,
    operation,
    otherModel: others.find((name) => plain(name) !== plain(model ?? "")),
    deployment: own,
    prices,
    unit,
    inputTokens,
    outputMax: most,
    worstCase: prices ? worstCaseCost({ input: inputTokens, output: reserved }, dearestPrices(prices, { inputTokens })) : 0n,
    stream: fields["stream"] === true,
    fields: given,
    beside: googleToolIn(fields) ?? feeIn(fields) ?? (known && feeOfModel(known, model)),
  };
}

/** The path wins: a model beside it, as Azure's own client sends, is not sent on, so that no provider can go by it. */
function withoutModel(fields: Json | undefined, ofPath: string | undefined): Json | undefined {
  if (!fields || ofPath === undefined) return fields;
  const { model: _beside, ...rest } = fields;
  return rest;
}

/** By the provider's name of it: an alias of the gateway may be another model's name at the provider. */
function modelAt({ deployments, row: { kind } }: Upstream, model: string | undefined) {
  if (model === undefined) return {};
  const own = deployments.find(({ inferenceModelId }) => plain(inferenceModelId) === plain(model));
  // A model without a deployment may still be on the public price list.
  const known = own ?? unconfigured(kind, plain(model));
  return { own, known, pricing: (known.model?.pricing as PriceMessage | undefined) ?? listedPrices(known) };
}

/** All models that a body names: Google's batches of texts name one for each. */
function modelsIn(fields: Json): readonly string[] {
  const requests = asList(fields["requests"]).map((each) => asFields(each)["model"]);
  return [fields["model"], ...requests].filter((name) => name !== undefined && name !== null).map(String);
}

/** Google's names of models may say that they are models. */
function plain(model: string): string {
  return model.replace(/^models\//, "");
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

/** The output to reserve for, and the most there can be. The provider validates the caller's limit; the reservation for it is capped all the same. */
function outputOf(fields: Json, operation: ProxiedOperation | undefined, limit: number | undefined) {
  if (operation === "free" || (operation && !operation.reader.streamed)) return { reserved: 0, most: 0 };
  const within = operation?.settings?.flatMap((name) => Object.entries(asFields(fields[name])));
  const settings: Json = within ? Object.fromEntries(within) : fields;
  const asked = highest(operation?.limits.map((name) => settings[name]) ?? []);
  const choices = highest([settings["n"], settings["best_of"], settings["candidateCount"], settings["candidate_count"]]) ?? 1;
  const prompts = asList(fields["prompt"]);
  const answers = Math.max(1, Math.min(128, choices)) * (typeof prompts[0] === "number" ? 1 : Math.max(1, prompts.length));
  const most = limit ?? RESERVED_OUTPUT_TOKENS_MAX;
  return { reserved: Math.min(asked ?? limit ?? MAX_OUTPUT_TOKENS_UNKNOWN, most) * answers, most: most * answers };
}

function highest(values: readonly unknown[]): number | undefined {
  const counts = values.filter((value): value is number => typeof value === "number" && Number.isSafeInteger(value) && value >= 0);
  return counts.length === 0 ? undefined : Math.max(...counts);
}

function jsonOf(body: Buffer): Json | undefined {
  try {
    const value = parseJson(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
