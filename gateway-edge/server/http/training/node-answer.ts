import type { IncomingMessage, ServerResponse } from "node:http";

/** The response headers of the participant API. All other headers of a node are dropped. */
const PASSED: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "content-range",
  "accept-ranges",
  "etag",
  "last-modified",
  "retry-after",
  "allow",
  "idempotent-replayed",
  "preference-applied",
  "x-result",
]);
/** Types that no browser renders or runs. */
const INERT_TYPE =
  /^(?:application\/(?:json|[\w.-]+\+json|octet-stream|msgpack|x-msgpack|vnd\.msgpack)|text\/(?:event-stream|plain))[ \t]*(?:;|$)/i;
const WITHOUT_BODY: ReadonlySet<number | undefined> = new Set([204, 304]);

/** A tenant's node controls the response, which has the console's origin, so browsers must treat it as data. */
export function sandboxAnswer(response: ServerResponse): void {
  response.setHeader("content-security-policy", "sandbox; default-src 'none'");
  response.setHeader("x-content-type-options", "nosniff");
}

/** A node's address and its path at this edge. */
export interface NodePlace {
  readonly url: URL;
  /** The node's path at this edge: /training/nodes/{id}. */
  readonly prefix: string;
}

/** Drops all but the listed headers of a node's response; a content type that a browser could render becomes a download. */
export function restrictNodeAnswer(answer: IncomingMessage, place: NodePlace): void {
  const { location } = answer.headers;
  const path = location === undefined ? undefined : pathAtEdge(location, place);
  for (const name of Object.keys(answer.headers)) if (!PASSED.has(name)) delete answer.headers[name];
  if (path !== undefined) answer.headers.location = path;
  if (INERT_TYPE.test(answer.headers["content-type"] ?? "") || WITHOUT_BODY.has(answer.statusCode)) return;
  answer.headers["content-type"] = "application/octet-stream";
  answer.headers["content-disposition"] = "attachment";
}

/** Maps a node's Location header to the proxy's path; undefined if it is not on that node. */
function pathAtEdge(location: string, { url, prefix }: NodePlace): string | undefined {
  const target = URL.parse(location, url.href);
  if (target?.origin !== url.origin) return undefined;
  const base = url.pathname.replace(/\/$/, "");
  const path = target.pathname.startsWith(`${base}/`) ? target.pathname.slice(base.length) : target.pathname;
  // Trainer nodes know the prefix and add it themselves.
  return (path.startsWith(`${prefix}/`) ? path : prefix + path) + target.search;
}
