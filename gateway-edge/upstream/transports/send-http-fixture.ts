import { systemClock } from "../../../common/clock.ts";
import type { Send, UpstreamRequest } from "../providers/provider.ts";
import { createHttpSend, type HttpSendOptions } from "./send-http.ts";

/** The real network, for calls that need no signature. */
export function sendWith(options: Partial<HttpSendOptions> = {}): Send {
  const unsigned = () => Promise.reject(new Error("nothing is signed here"));
  return createHttpSend({ clock: systemClock, signers: { aws: unsigned, google: unsigned }, ...options });
}

/** The signal of a client that stays connected. */
export const open = () => new AbortController().signal;

export const post = (url: string, more: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  url,
  headers: { "x-own": "1" },
  body: "{}",
  ...more,
});
