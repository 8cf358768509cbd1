import type { Guard } from "../../../common/outbound.ts";
import type { UpstreamRequest } from "../providers/provider.ts";
import type { Address } from "./address.ts";
import type { ConnectionWaits } from "./connection-wait.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { ProxyOf } from "./proxies.ts";

/** The transports that can be chosen with UPSTREAM_TRANSPORT. */
export const TRANSPORTS = ["http1", "undici"] as const;
export type TransportName = (typeof TRANSPORTS)[number];

export interface TransportOptions {
  /** The guard of new connections to an origin. */
  readonly guardFor: (origin: string) => Guard;
  readonly proxyOf: ProxyOf;
  readonly connectMs: number;
  /** Connections to one upstream; calls above it wait for one. */
  readonly connectionsMax: number;
  /** Upstreams at one time; a call to one more is refused. */
  readonly originsMax: number;
}

/**
 * Carries requests over HTTP. An adapter sends exactly the method, address, headers and body of the request, asks for no compression,
 * follows no redirect, verifies TLS, sends a call at most once, and reports everything to the exchange. Both adapters pass one contract
 * suite (send-contract.ts).
 */
export interface Transport {
  dispatch(address: Address, request: UpstreamRequest, exchange: HttpExchange): void;
  waits(): ConnectionWaits;
}
