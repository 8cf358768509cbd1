import type { Fields } from "../../../upstream/providers/provider.ts";

/** Fields for the gateway: a provider would refuse them, or learn what it should not know. */
export const GATEWAY_FIELDS: ReadonlySet<string> = new Set([
  "guardrails",
  "caching",
  "cache",
  "num_retries",
  "context_window_fallback_dict",
  "fallbacks",
  "disable_fallbacks",
  "drop_params",
  "timeout",
  "request_timeout",
  "stream_timeout",
  "tags",
  "logger_fn",
  "gw_logging_obj",
  "gw_call_id",
]);

/** The fields of a request that are for the provider: no gateway fields, no nulls. */
export function providerFields(request: Fields): Fields {
  const isSent = (name: string) => !GATEWAY_FIELDS.has(name) && request[name] !== undefined && request[name] !== null;
  // Most requests have none of them.
  if (Object.keys(request).every(isSent)) return request;
  return Object.fromEntries(Object.entries(request).filter(([name]) => isSent(name)));
}

/** The deployment's default parameters that the operator set, as in LiteLLM beside its address and key. */
const DEFAULTABLE = [
  "temperature",
  "top_p",
  "seed",
  "reasoning_effort",
  "frequency_penalty",
  "presence_penalty",
  "stop",
  "response_format",
];

const defaults = new WeakMap<Fields, Fields>();

export function defaultsOf(params: Fields): Fields {
  const known = defaults.get(params);
  if (known) return known;
  const isSet = (name: string) => params[name] !== undefined && params[name] !== null;
  const found = Object.fromEntries(DEFAULTABLE.filter(isSet).map((name) => [name, params[name]]));
  defaults.set(params, found);
  return found;
}

/** The tag of the calls of a session. */
export const sessionTag = (id: string): string => `session:${id}`;

/** LiteLLM's labels of calls: metadata.tags, and metadata.session_id as a tag of its own. */
export function tagsOf(request: Fields): string[] {
  const metadata = request["metadata"] as Fields | undefined;
  const tags = metadata?.["tags"];
  const texts = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
  const session = metadata?.["session_id"];
  if (typeof session === "string" && session !== "") texts.unshift(sessionTag(session));
  return texts.slice(0, 16).map((tag) => tag.slice(0, 64));
}
