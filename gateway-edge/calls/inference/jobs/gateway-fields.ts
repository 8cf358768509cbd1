import { createHash } from "node:crypto";
import { DEFAULTABLE } from "../../../upstream/default-params.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { asFields } from "../../../upstream/providers/shared/json-fields.ts";

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
  // LiteLLM's clients send them to any gateway.
  "litellm_metadata",
  "litellm_session_id",
  "litellm_trace_id",
  "litellm_call_id",
  "litellm_logging_obj",
  "allowed_openai_params",
  "additional_drop_params",
  "extra_headers",
]);

/** The fields of a request that are for the provider: no gateway fields, no nulls. */
export function providerFields(request: Fields): Fields {
  const isSent = (name: string) => !GATEWAY_FIELDS.has(name) && request[name] !== undefined && request[name] !== null;
  // Most requests have none of them.
  if (Object.keys(request).every(isSent)) return request;
  return Object.fromEntries(Object.entries(request).filter(([name]) => isSent(name)));
}

const defaults = new WeakMap<Fields, Fields | "none">();

/** A request with the deployment's defaults for what it does not set. */
export function withDefaults<Body extends Fields>(params: Fields, body: Body): Body {
  const found = defaults.get(params) ?? defaultsOf(params);
  return found === "none" ? body : { ...found, ...body };
}

function defaultsOf(params: Fields): Fields | "none" {
  const isSet = (name: string) => params[name] !== undefined && params[name] !== null;
  const names = DEFAULTABLE.filter(isSet);
  const found = names.length === 0 ? "none" : Object.fromEntries(names.map((name) => [name, params[name]]));
  defaults.set(params, found);
  return found;
}

const TAG_LENGTH_MAX = 64;
const TAGS_MAX = 16;
const [SESSION, SESSION_HASH_LENGTH] = ["session:", 16];

/** The tag of the calls of a session. A longer one ends with a hash of the whole ID, so that IDs with the same beginning stay apart. */
export function sessionTag(id: string): string {
  const tag = SESSION + id;
  if (tag.length <= TAG_LENGTH_MAX) return tag;
  const hash = createHash("sha256").update(id).digest("hex").slice(0, SESSION_HASH_LENGTH);
  return `${tag.slice(0, TAG_LENGTH_MAX - SESSION_HASH_LENGTH - 1)}~${hash}`;
}

/** LiteLLM's labels of calls: metadata.tags, or those of the other places in which its clients send them. */
export function tagsOf(request: Fields): string[] {
  const [tags = []] = [...metadataOf(request).map(({ tags: given }) => given), request["tags"]].filter(Array.isArray);
  const texts = tags.filter((tag) => typeof tag === "string");
  return texts.slice(0, TAGS_MAX).map((tag) => tag.slice(0, TAG_LENGTH_MAX));
}

/** The tag of metadata.session_id. It is not among the tags that select deployments: no deployment has it. */
export function logTagsOf(request: Fields): readonly string[] | undefined {
  const given = [...metadataOf(request).map(({ session_id: session }) => session), request["litellm_session_id"]];
  const session = given.find((id) => typeof id === "string" && id !== "");
  return session === undefined ? undefined : [sessionTag(session as string)];
}

/** What a request says about itself. `metadata` of some APIs is the provider's: their clients send the gateway's beside it. */
function metadataOf(request: Fields): readonly Fields[] {
  return [asFields(request["metadata"]), asFields(request["litellm_metadata"])];
}
