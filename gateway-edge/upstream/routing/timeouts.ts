import type { Target } from "./deployment-settings.ts";
import type { RouteCall, Timeouts } from "./route-call.ts";
import type { RouterSettings } from "./settings.ts";

type LimitedCall = Pick<RouteCall, "stream" | "timeoutMs" | "streamTimeoutMs">;

/**
 * The timeouts of one attempt. The nearest setting applies: deployment, router; a request may shorten it. For a stream `timeout` (or
 * stream_timeout) is the time to its first token, as in LiteLLM; the whole stream has its own limit, and so has silence within it.
 */
export function timeoutsOf(target: Target, call: LimitedCall, settings: RouterSettings): Timeouts {
  const configuredMs = target.settings.timeoutMs ?? settings.timeoutMs;
  if (!call.stream) {
    const timeoutMs = shorter(call.timeoutMs, configuredMs);
    return {
      connectMs: Math.min(settings.connectTimeoutMs, timeoutMs),
      firstTokenMs: timeoutMs,
      betweenTokensMs: timeoutMs,
      totalMs: timeoutMs,
    };
  }
  const configuredFirstMs = target.settings.streamTimeoutMs ?? settings.streamTimeoutMs ?? configuredMs;
  const firstTokenMs = shorter(call.streamTimeoutMs ?? call.timeoutMs, configuredFirstMs);
  return {
    connectMs: Math.min(settings.connectTimeoutMs, firstTokenMs),
    firstTokenMs,
    betweenTokensMs: settings.betweenTokensMs,
    totalMs: Math.max(settings.streamTotalMs, firstTokenMs),
  };
}

/** Whether the caller's own limit, and not a configured one, ends an attempt that brings nothing. */
export function isCallersLimit(target: Target, call: LimitedCall, settings: RouterSettings): boolean {
  if (call.timeoutMs === undefined && call.streamTimeoutMs === undefined) return false;
  return timeoutsOf(target, call, settings).firstTokenMs < timeoutsOf(target, { stream: call.stream }, settings).firstTokenMs;
}

const shorter = (asked: number | undefined, configured: number): number => (asked === undefined || asked > configured ? configured : asked);
