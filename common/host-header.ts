import type { IncomingMessage } from "node:http";

/** Whether a request has more than one Host header: a proxy before this server may have routed it by another one than is read here. */
export function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    // The length is compared first, as this runs for every header of every request.
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}
