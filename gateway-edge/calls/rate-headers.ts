import type { RateState } from "../../common/errors.ts";

/** The rate limits of a call as OpenAI's headers, for answers and refusals alike. */
export function rateHeaders(rate: RateState | undefined): Record<string, string> {
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
