import type { IncomingMessage } from "node:http";
import { isInert } from "../../../calls/sandboxed-answer.ts";

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
const WITHOUT_BODY: ReadonlySet<number | undefined> = new Set([204, 304]);

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
  if (isInert(answer.headers["content-type"]) || WITHOUT_BODY.has(answer.statusCode)) return;
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
