import { isIP } from "node:net";
import { Readable } from "node:stream";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { defined } from "../../../common/defined.ts";
import { guardedConnector } from "../../../common/outbound-undici.ts";
import type { CallIds, UpstreamRequest, UpstreamTls } from "../providers/provider.ts";
import type { Address } from "./address.ts";
import { isSetByTransport } from "./connection-headers.ts";
import { exactBody } from "./exact-body.ts";
import type { UpstreamProxy } from "./proxies.ts";
import { secureContextOf } from "./tls-identity.ts";
import type { Transport, TransportOptions } from "./transport.ts";

/** undici. It does not report calls that wait for a connection. */
export function createUndiciTransport(options: TransportOptions): Transport {
  const { guardFor, proxyOf } = options;
  const direct = new Agents(
    (tls) => new Agent({ ...agentOptions(options), connect: guardedConnector(guardFor, tlsOptions(options, tls)) }),
  );
  const proxied = new Map<UpstreamProxy, Agents>();
  const agentsOf = (proxy: UpstreamProxy): Agents => {
    const known = proxied.get(proxy) ?? new Agents((tls) => proxyAgent(proxy, options, tls));
    proxied.set(proxy, known);
    return known;
  };
  return {
    dispatch: (address, request, exchange) => {
      const proxy = proxyOf(address);
      // A proxy resolves names itself, so that only the text of a host can be checked.
      if (proxy) guardFor(address.origin).checkHost(address.host);
      const sent = dispatchOptions(address, request, exchange.callIds);
      exchange.upload = sent.body instanceof Readable ? sent.body : undefined;
      (proxy ? agentsOf(proxy) : direct).of(request.tls).dispatch(sent, exchange);
    },
    waits: () => ({ waiting: 0, waits: 0, waitedMs: 0 }),
  };
}

const IDENTITIES_MAX = 256;

/** One agent for each certificate; those of rotated ones are dropped. */
class Agents {
  readonly #create: (tls: UpstreamTls | undefined) => Dispatcher;
  readonly #plain: Dispatcher;
  readonly #byId = new Map<string, Dispatcher>();

  constructor(create: (tls: UpstreamTls | undefined) => Dispatcher) {
    this.#create = create;
    this.#plain = create(undefined);
  }

  of(tls: UpstreamTls | undefined): Dispatcher {
    if (tls === undefined) return this.#plain;
    const known = this.#byId.get(tls.id);
    if (known) return known;
    if (this.#byId.size >= IDENTITIES_MAX) this.#byId.clear();
    const created = this.#create(tls);
    this.#byId.set(tls.id, created);
    return created;
  }
}

function agentOptions({ connectionsMax, originsMax }: TransportOptions) {
  return {
    connections: connectionsMax,
    maxOrigins: originsMax,
    pipelining: 1,
    // One call on one connection: an abort frees it at once, and a reset affects no other call.
    allowH2: false,
    keepAliveTimeout: 10_000,
    // The caller watches for silence before and between bytes.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

function tlsOptions({ connectMs }: TransportOptions, tls: UpstreamTls | undefined) {
  return { timeout: connectMs, allowH2: false, ...(tls === undefined ? undefined : { secureContext: secureContextOf(tls) }) };
}

function proxyAgent(
  { host, port, isTls, authorization }: UpstreamProxy,
  options: TransportOptions,
  tls: UpstreamTls | undefined,
): Dispatcher {
  return new ProxyAgent({
    ...agentOptions(options),
    uri: `${isTls ? "https" : "http"}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    ...(authorization === undefined ? undefined : { token: authorization }),
    requestTls: { ...tlsOptions(options, tls), rejectUnauthorized: true },
    proxyTls: { rejectUnauthorized: true },
    // Proxies know the form for unencrypted requests that names the upstream in the first line; few open tunnels for them.
    proxyTunnel: false,
  });
}

function dispatchOptions(
  { origin, path }: Address,
  { method = "POST", headers, body, bodyBytes }: UpstreamRequest,
  ids: CallIds | undefined,
): Dispatcher.DispatchOptions {
  const named = defined({ "x-request-id": ids?.requestId, traceparent: ids?.traceparent });
  const passedOn = Object.fromEntries(Object.entries(headers).filter(([name]) => !isSetByTransport(name.toLowerCase())));
  const content = typeof body === "string" || body instanceof Uint8Array ? body : streamOf(body, bodyBytes);
  const length = bodyBytes === undefined || !(content instanceof Readable) ? undefined : { "content-length": String(bodyBytes) };
  return {
    origin,
    path,
    method: method as Dispatcher.HttpMethod,
    headers: { ...named, ...passedOn, "accept-encoding": "identity", ...length },
    body: method === "GET" || (!(content instanceof Readable) && content.length === 0 && method !== "POST") ? null : content,
  };
}

function streamOf(body: AsyncIterable<Uint8Array>, bodyBytes: number | undefined): Readable {
  return Readable.from(bodyBytes === undefined ? body : exactBody(body, bodyBytes), { objectMode: false });
}
