import { toUsdString } from "../../common/money.ts";
import type { RateState } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Bill } from "../inference/meter.ts";
import type { CallHead } from "../inference/run-inference.ts";

/** The headers of an answered call; the bill only where it is known before the first byte. */
export function callHeaders(callId: string, head: CallHead, bill?: Bill): Record<string, string> {
  return {
    "x-gw-call-id": callId,
    "x-gw-model-id": headerText(head.deploymentId),
    "x-gw-model-group": headerText(head.model),
    "x-gw-attempted-retries": String(head.retries),
    "x-gw-attempted-fallbacks": String(head.fallbacks),
    "x-gw-overhead-duration-ms": head.overheadMs().toFixed(3),
    ...(bill ? { "x-gw-response-cost": toUsdString(bill.cost), "x-gw-cost-nano": bill.cost.toString() } : {}),
    ...rateHeaders(head.rate),
  };
}

function rateHeaders(rate: RateState | undefined): Record<string, string> {
  if (!rate) return {};
  const reset = `${Math.max(0, Math.round(rate.resetSeconds * 1000))}ms`;
  const headers: Record<string, string> = {};
  const add = (kind: "requests" | "tokens", limit: number | undefined, remaining: number | undefined) => {
    if (limit === undefined) return;
    headers[`x-ratelimit-limit-${kind}`] = String(limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(Math.max(0, remaining ?? 0));
    headers[`x-ratelimit-reset-${kind}`] = reset;
  };
  add("requests", rate.limitRequests, rate.remainingRequests);
  add("tokens", rate.limitTokens, rate.remainingTokens);
  return headers;
}

/** A header can only hold printable ASCII; a model's name can hold anything. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
