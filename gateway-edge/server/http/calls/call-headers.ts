import { toUsdString } from "../../../../common/money.ts";
import type { Bill } from "../../../calls/inference/bill.ts";
import type { CallHead } from "../../../calls/inference/run-inference.ts";
import { rateHeaders } from "../../../calls/rate-headers.ts";

/** The response headers of a call; with the cost if it is known before the first byte. */
export function callHeaders(callId: string, head: CallHead, bill?: Bill): Record<string, string> {
  return {
    "x-gw-call-id": callId,
    "x-gw-model-id": headerText(head.deploymentId),
    "x-gw-model-group": headerText(head.model),
    "x-gw-attempted-retries": String(head.retries),
    "x-gw-attempted-fallbacks": String(head.fallbacks),
    "x-gw-overhead-duration-ms": head.overheadMs().toFixed(3),
    ...(bill ? { "x-gw-response-cost": toUsdString(bill.cost), "x-gw-cost-nano": bill.cost.toString() } : {}),
    ...(head.cacheKey === undefined ? {} : { "x-gw-cache-key": head.cacheKey }),
    ...(head.similarity === undefined ? {} : { "x-gw-semantic-similarity": head.similarity.toFixed(4) }),
    ...rateHeaders(head.rate),
  };
}

/** A header value must be printable ASCII; a model's name can contain any characters. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
