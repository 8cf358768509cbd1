import type { IncomingHttpHeaders } from "node:http";
import type { Upstream } from "./upstreams.ts";

const HOP_BY_HOP =
  "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade expect".split(" ");
/** Who the client is to us, and how it came here: none of the provider's business. */
const OURS = "authorization x-api-key api-key x-goog-api-key cookie host content-length accept-encoding forwarded via origin referer".split(
  " ",
);
const OURS_BY_PREFIX = /^(x-gw-|x-forwarded-|x-real-ip|cf-|sec-|proxy-)/;
/** Whose account the operator has is none of the client's. */
const THEIRS = new Set([...HOP_BY_HOP, "set-cookie", "openai-organization", "openai-project", "server", "x-request-id", "content-length"]);

/** The client's headers that go on, our key among them. */
export function headersTo({ row, apiKey }: Upstream, given: IncomingHttpHeaders): Record<string, string> {
  const dropped = new Set([...HOP_BY_HOP, ...OURS, ...namesIn(given.connection)]);
  const kept = Object.entries(given).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || dropped.has(name) || OURS_BY_PREFIX.test(name)) return [];
    return [[name, Array.isArray(value) ? value.join(", ") : value]];
  });
  // As it is: a compressed answer could not be read for its usage.
  return { ...row.defaults, ...Object.fromEntries(kept), "accept-encoding": "identity", ...row.keyHeaders(apiKey) };
}

/** The provider's headers that go back. */
export function headersBack(given: IncomingHttpHeaders): Record<string, string | string[]> {
  const entries = Object.entries(given).filter(([name, value]) => value !== undefined && !THEIRS.has(name) && !name.startsWith("x-gw-"));
  return Object.fromEntries(entries) as Record<string, string | string[]>;
}

function namesIn(connection: string | undefined): string[] {
  return (connection ?? "").split(",").map((name) => name.trim().toLowerCase());
}
