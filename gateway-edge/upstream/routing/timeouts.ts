import type { Target } from "./deployment-settings.ts";
import type { RouteCall, Timeouts } from "./route-call.ts";
import type { RouterSettings } from "./settings.ts";

/**
 * The timeouts of one attempt. The nearest setting applies: request, deployment, router. For a stream `timeout` (or stream_timeout) is the
 * time to its first token, as in LiteLLM; the whole stream has its own limit, and so has silence within it.
 */
export function timeoutsOf(
  target: Target,
  call: Pick<RouteCall, "stream" | "timeoutMs" | "streamTimeoutMs">,
  settings: RouterSettings,
): Timeouts {
  const timeoutMs = call.timeoutMs ?? target.settings.timeoutMs ?? settings.timeoutMs;
  if (!call.stream) {
    return {
      connectMs: Math.min(settings.connectTimeoutMs, timeoutMs),
      firstTokenMs: timeoutMs,
      betweenTokensMs: timeoutMs,
      totalMs: timeoutMs,
    };
  }
  const firstTokenMs = call.streamTimeoutMs ?? call.timeoutMs ?? target.settings.streamTimeoutMs ?? settings.streamTimeoutMs ?? timeoutMs;
  return {
    connectMs: Math.min(settings.connectTimeoutMs, firstTokenMs),
    firstTokenMs,
    betweenTokensMs: settings.betweenTokensMs,
    totalMs: Math.max(settings.streamTotalMs, firstTokenMs),
  };
}
