import type { Clock } from "../../../../common/clock.ts";
import type { UpstreamRequest } from "../../providers/provider.ts";
import type { Address } from "../address.ts";
import { NO_PROXIES, type ProxyOf } from "../proxies.ts";
import type { Transport, TransportOptions } from "../transport.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { serializeRequest } from "./request.ts";

/** Our own HTTP/1.1 connections, which cost less than undici's (decision 19). */
export function createHttp1Transport(options: TransportOptions & { readonly clock: Clock }): Transport {
  const pool = new ConnectionPool(options);
  const { proxyOf } = options;
  return {
    dispatch: (address, request, exchange) => {
      const [place, sent] = proxyOf === NO_PROXIES || address.isTls ? [address, request] : throughProxy(address, request, proxyOf);
      pool.dispatch(address, { message: serializeRequest(place, sent, exchange.callIds), handler: exchange }, request.tls);
    },
    waits: () => pool.waits(),
  };
}

/** A proxy finds the upstream of an unencrypted request in its first line. */
function throughProxy(address: Address, request: UpstreamRequest, proxyOf: ProxyOf): [Address, UpstreamRequest] {
  const proxy = proxyOf(address);
  if (!proxy) return [address, request];
  const { authorization } = proxy;
  const headers = authorization === undefined ? request.headers : { ...request.headers, "proxy-authorization": authorization };
  return [
    { ...address, path: `${address.origin}${address.path}` },
    { ...request, headers },
  ];
}
