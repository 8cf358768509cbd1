import type { IncomingHttpHeaders } from "node:http";
import type { UpstreamResponse } from "../../upstream/providers/provider.ts";
import type { Upstream } from "./upstreams.ts";

const HOP_BY_HOP =
  "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade expect".split(" ");
/** Who the client is to us, and how it came here: none of the provider's business. */
const OURS = "authorization x-api-key api-key x-goog-api-key cookie host content-length accept-encoding forwarded via origin referer".split(
  " ",
);
const OURS_BY_PREFIX = /^(x-gw-|x-forwarded-|x-real-ip|cf-|sec-|proxy-)/;
/** What clients of the providers' APIs read. The rest of a provider's headers (cookies, policies for browsers, its edge) stays behind. */
const BACK =
  /^(?:content-(?:type|encoding|disposition|range|language)|accept-ranges|cache-control|etag|last-modified|location|retry-after(?:-ms)?|request-id|x-should-retry|(?:x-)?ratelimit-.+|(?:openai|anthropic|x-goog|x-ms|x-amzn|apim|azure)-.+)$/;
/** Whose account the operator has is not for the client to see. */
const OPERATORS: ReadonlySet<string> = new Set(["openai-organization", "openai-project", "anthropic-organization-id"]);

/** The client's headers that go on, our key among them. */
export function headersTo({ row, apiKey }: Upstream, given: IncomingHttpHeaders): Record<string, string> {
  const dropped = new Set([...HOP_BY_HOP, ...OURS, ...namesIn(given.connection)]);
  const forwarded = Object.entries(given).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || dropped.has(name) || OURS_BY_PREFIX.test(name)) return [];
    return [[name, Array.isArray(value) ? value.join(", ") : value]];
  });
  // As it is: a compressed answer could not be read for its usage.
  return { ...row.defaults, ...Object.fromEntries(forwarded), "accept-encoding": "identity", ...row.keyHeaders(apiKey) };
}

/** The provider's headers that go back. */
export function headersBack(given: UpstreamResponse["headers"]): Record<string, string> {
  const entries = Object.entries(given).filter(([name]) => BACK.test(name) && !OPERATORS.has(name));
  return Object.fromEntries(entries);
}

function namesIn(connection: string | undefined): string[] {
  return (connection ?? "").split(",").map((name) => name.trim().toLowerCase());
}
