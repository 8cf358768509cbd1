import type { IncomingHttpHeaders } from "node:http";
import { CREDENTIAL_HEADERS } from "../../../common/credential-headers.ts";
import type { UpstreamResponse } from "../../upstream/providers/provider.ts";
import { CONNECTION_HEADERS } from "../../upstream/transports/connection-headers.ts";
import { isInert } from "../sandboxed-answer.ts";
import type { Upstream } from "./upstreams.ts";

/** Headers about the client and its way to the gateway; a provider does not need them. */
const OURS = [
  ...CREDENTIAL_HEADERS,
  ..."x-goog-api-key cookie host content-length accept-encoding forwarded via origin referer".split(" "),
];
/** They change what a request is: its method, the fields of its answer, whether the answer waits for the work. */
const OVERRIDES = "x-http-method-override x-http-method x-method-override x-goog-fieldmask x-goog-field-mask prefer".split(" ");
const OURS_BY_PREFIX = /^(x-gw-|x-forwarded-|x-real-ip|cf-|sec-|proxy-)/;
/** Headers that clients of providers' APIs read. Other headers of a provider (cookies, browser policies, its edge) are not forwarded. */
const BACK =
  /^(?:content-(?:type|encoding|disposition|range|language)|accept-ranges|cache-control|etag|last-modified|retry-after(?:-ms)?|request-id|x-should-retry|(?:x-)?ratelimit-.+|(?:openai|anthropic|x-goog|x-ms|x-amzn|apim|azure)-.+)$/;
/** Sound and pictures, which clients tell apart by their type and no browser runs. */
const MEDIA = /^(?:audio|video)\/[\w.+-]+[ \t]*(?:;|$)|^image\/(?:png|jpeg|gif|webp)[ \t]*(?:;|$)/i;
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);
/** The operator's account at the provider is neither chosen by clients nor shown to them. */
const OPERATORS: ReadonlySet<string> = new Set(["openai-organization", "openai-project", "anthropic-organization-id"]);

/** The client's headers that are forwarded, with the gateway's key. */
export function headersTo({ row, apiKey }: Upstream, given: IncomingHttpHeaders): Record<string, string> {
  const dropped = new Set([...CONNECTION_HEADERS, ...OURS, ...OVERRIDES, ...OPERATORS, ...namesIn(given.connection)]);
  const forwarded = Object.entries(given).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || dropped.has(name) || OURS_BY_PREFIX.test(name)) return [];
    return [[name, Array.isArray(value) ? value.join(", ") : value]];
  });
  // Uncompressed: the usage in a compressed answer could not be read.
  return { ...row.defaults, ...Object.fromEntries(forwarded), "accept-encoding": "identity", ...row.keyHeaders(apiKey) };
}

type Answered = Pick<UpstreamResponse, "status" | "headers">;

/**
 * The provider's headers that are returned to the client. A type that is not plain data is a download, and one that a browser could run is
 * octets.
 */
export function headersBack({ status, headers: given }: Answered, upstream: Pick<Upstream, "row" | "root">): Record<string, string> {
  const { location, ...rest } = given;
  const entries = Object.entries(rest).filter(([name]) => BACK.test(name) && !OPERATORS.has(name));
  const back: Record<string, string> = Object.fromEntries(entries);
  const path = location === undefined ? undefined : pathAtGateway(location, upstream);
  if (path !== undefined) back["location"] = path;
  const type = given["content-type"];
  if (isInert(type) || WITHOUT_BODY.has(status)) return back;
  const parameters = /;.*$/s.exec(given["content-disposition"] ?? "")?.[0] ?? "";
  return {
    ...back,
    "content-type": type !== undefined && MEDIA.test(type) ? type : "application/octet-stream",
    "content-disposition": `attachment${parameters}`,
  };
}

/** The path here that leads to a `location` of the provider; undefined if it is not below the provider's address. */
function pathAtGateway(location: string, { row, root }: Pick<Upstream, "row" | "root">): string | undefined {
  const target = URL.parse(location, root.href);
  const base = root.pathname.replace(/(?<!\/)\/+$/, "");
  if (target?.origin !== root.origin || !target.pathname.startsWith(`${base}/`)) return undefined;
  return `/${row.kind}${target.pathname.slice(base.length)}${target.search}`;
}

function namesIn(connection: string | undefined): string[] {
  return (connection ?? "").split(",").map((name) => name.trim().toLowerCase());
}
