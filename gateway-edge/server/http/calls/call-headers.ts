import { toUsdString } from "../../../../common/money.ts";
import type { HeaderList } from "../../../calls/header-list.ts";
import type { Bill } from "../../../calls/inference/bill.ts";
import type { CallHead } from "../../../calls/inference/inference-call.ts";
import { rateHeaders } from "../../../calls/rate-headers.ts";

/** The response headers of a call; with the cost if it is known before the first byte. */
export function callHeaders(callId: string, head: CallHead, bill?: Bill): HeaderList {
  // biome-ignore format: a header in each line.
  const headers = [
    "x-gw-call-id", callId,
    "x-gw-model-id", headerText(head.deploymentId),
    "x-gw-model-group", headerText(head.model),
    "x-gw-attempted-retries", String(head.retries),
    "x-gw-attempted-fallbacks", String(head.fallbacks),
    "x-gw-overhead-duration-ms", head.overheadMs().toFixed(3),
    ...rateHeaders(head.rate),
  ];
  if (bill) headers.push("x-gw-response-cost", toUsdString(bill.cost), "x-gw-cost-nano", bill.cost.toString());
  if (head.cacheKey !== undefined) headers.push("x-gw-cache-key", head.cacheKey);
  if (head.similarity !== undefined) headers.push("x-gw-semantic-similarity", head.similarity.toFixed(4));
  return headers;
}

/** A header value must be printable ASCII; a model's name can contain any characters. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text);
}
