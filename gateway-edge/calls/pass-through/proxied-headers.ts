import type { IncomingHttpHeaders } from "node:http";
import type { UpstreamResponse } from "../../upstream/providers/provider.ts";
import { CONNECTION_HEADERS } from "../../upstream/transports/connection-headers.ts";
import type { Upstream } from "./upstreams.ts";

/** Headers about the client and its way to the gateway; a provider does not need them. */
const OURS = "authorization x-api-key api-key x-goog-api-key cookie host content-length accept-encoding forwarded via origin referer".split(
  " ",
);
const OURS_BY_PREFIX = /^(x-gw-|x-forwarded-|x-real-ip|cf-|sec-|proxy-)/;
/** Headers that clients of providers' APIs read. Other headers of a provider (cookies, browser policies, its edge) are not forwarded. */
const BACK =
  /^(?:content-(?:type|encoding|disposition|range|language)|accept-ranges|cache-control|etag|last-modified|location|retry-after(?:-ms)?|request-id|x-should-retry|(?:x-)?ratelimit-.+|(?:openai|anthropic|x-goog|x-ms|x-amzn|apim|azure)-.+)$/;
/** The operator's account at the provider is not shown to clients. */
const OPERATORS: ReadonlySet<string> = new Set(["openai-organization", "openai-project", "anthropic-organization-id"]);

/** The client's headers that are forwarded, with the gateway's key. */
export function headersTo({ row, apiKey }: Upstream, given: IncomingHttpHeaders): Record<string, string> {
  const dropped = new Set([...CONNECTION_HEADERS, ...OURS, ...namesIn(given.connection)]);
  const forwarded = Object.entries(given).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || dropped.has(name) || OURS_BY_PREFIX.test(name)) return [];
    return [[name, Array.isArray(value) ? value.join(", ") : value]];
  });
  // Uncompressed: the usage in a compressed answer could not be read.
  return { ...row.defaults, ...Object.fromEntries(forwarded), "accept-encoding": "identity", ...row.keyHeaders(apiKey) };
}

/** The provider's headers that are returned to the client. */
export function headersBack(given: UpstreamResponse["headers"]): Record<string, string> {
  const entries = Object.entries(given).filter(([name]) => BACK.test(name) && !OPERATORS.has(name));
  return Object.fromEntries(entries);
}

function namesIn(connection: string | undefined): string[] {
  return (connection ?? "").split(",").map((name) => name.trim().toLowerCase());
}
