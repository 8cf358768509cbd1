import type { RateState } from "../../common/errors.ts";
import type { HeaderList } from "./header-list.ts";

/** The rate limits of a call as OpenAI's headers, for answers and refusals alike. */
export function rateHeaders(rate: RateState | undefined): HeaderList {
  if (!rate) return [];
  const reset = `${Math.max(0, Math.round(rate.resetSeconds * 1000))}ms`;
  const left = (remaining = 0) => String(Math.max(0, remaining));
  const headers: string[] = [];
  if (rate.limitRequests !== undefined) {
    headers.push("x-ratelimit-limit-requests", String(rate.limitRequests));
    headers.push("x-ratelimit-remaining-requests", left(rate.remainingRequests), "x-ratelimit-reset-requests", reset);
  }
  if (rate.limitTokens !== undefined) {
    headers.push("x-ratelimit-limit-tokens", String(rate.limitTokens));
    headers.push("x-ratelimit-remaining-tokens", left(rate.remainingTokens), "x-ratelimit-reset-tokens", reset);
  }
  return headers;
}
