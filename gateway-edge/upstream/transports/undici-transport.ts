import { Readable } from "node:stream";
import { type Dispatcher, EnvHttpProxyAgent } from "undici";
import { defined } from "../../../common/defined.ts";
import { guardedConnector } from "../../../common/outbound-undici.ts";
import type { CallIds, UpstreamRequest } from "../providers/provider.ts";
import type { Address } from "./address.ts";
import { isSetByTransport } from "./connection-headers.ts";
import type { Transport, TransportOptions } from "./transport.ts";

const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/** undici, which honors HTTPS_PROXY, HTTP_PROXY and NO_PROXY. It does not report calls that wait for a connection. */
export function createUndiciTransport({ connectMs, connectionsMax, originsMax, guardFor }: TransportOptions): Transport {
  // A proxy resolves names itself, so that only the text of a host can be checked.
  const isProxied = PROXY_VARIABLES.some((name) => process.env[name]);
  const agent = new EnvHttpProxyAgent({
    connections: connectionsMax,
    maxOrigins: originsMax,
    pipelining: 1,
    // One call on one connection: an abort frees it at once, and a reset affects no other call.
    allowH2: false,
    keepAliveTimeout: 10_000,
    connect: guardedConnector(guardFor, { timeout: connectMs, allowH2: false }),
    requestTls: { rejectUnauthorized: true },
    proxyTls: { rejectUnauthorized: true },
    // The caller watches for silence before and between bytes.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    dispatch: (address, request, exchange) => {
      if (isProxied) guardFor(address.origin).checkHost(address.host);
      const options = dispatchOptions(address, request, exchange.callIds);
      exchange.upload = options.body instanceof Readable ? options.body : undefined;
      agent.dispatch(options, exchange);
    },
    waits: () => ({ waiting: 0, waits: 0, waitedMs: 0 }),
  };
}

function dispatchOptions(
  { origin, path }: Address,
  { method = "POST", headers, body }: UpstreamRequest,
  ids: CallIds | undefined,
): Dispatcher.DispatchOptions {
  const named = defined({ "x-request-id": ids?.requestId, traceparent: ids?.traceparent });
  const passedOn = Object.fromEntries(Object.entries(headers).filter(([name]) => !isSetByTransport(name.toLowerCase())));
  const content = typeof body === "string" || body instanceof Uint8Array ? body : Readable.from(body, { objectMode: false });
  return {
    origin,
    path,
    method: method as Dispatcher.HttpMethod,
    headers: { ...named, ...passedOn, "accept-encoding": "identity" },
    body: method === "GET" || (!(content instanceof Readable) && content.length === 0 && method !== "POST") ? null : content,
  };
}
