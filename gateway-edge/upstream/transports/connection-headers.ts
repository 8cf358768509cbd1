/** Headers that concern one connection (RFC 9110): an intermediary does not pass them on. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set(
  "connection expect keep-alive proxy-connection te trailer transfer-encoding upgrade".split(" "),
);

/** Headers that a transport sets itself or must not send, whatever the request has. Names are in lower case. */
export function isSetByTransport(name: string): boolean {
  return CONNECTION_HEADERS.has(name) || name === "content-length" || name === "accept-encoding";
}
