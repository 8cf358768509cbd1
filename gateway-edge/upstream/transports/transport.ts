import { AppError } from "../../../common/errors.ts";
import type { UpstreamRequest } from "../providers/provider.ts";
import type { ConnectionWaits } from "./connection-wait.ts";
import type { HttpExchange } from "./http-exchange.ts";

/** The transports that can be chosen with UPSTREAM_TRANSPORT. */
export const TRANSPORTS = ["http1", "undici"] as const;
export type TransportName = (typeof TRANSPORTS)[number];

export interface TransportLimits {
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

/** Where a request goes, read from its URL. */
export interface Address {
  readonly origin: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly path: string;
  /** The `host` header. */
  readonly authority: string;
}

const ADDRESSES_MAX = 1024;
/** Deployments have few addresses, and each call would parse its own again. */
const addresses = new Map<string, Address>();

export function addressOf(url: string): Address {
  const known = addresses.get(url);
  if (known) return known;
  const { origin, hostname, host, port, pathname, search, protocol, username, password } = new URL(url);
  if ((protocol !== "https:" && protocol !== "http:") || username !== "" || password !== "") {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", {
      internal: `an address with the scheme ${protocol} or with a user`,
    });
  }
  if (addresses.size >= ADDRESSES_MAX) addresses.clear();
  const isTls = protocol === "https:";
  const address: Address = {
    origin,
    // The brackets belong to the URL, not to the address.
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (isTls ? 443 : 80) : Number(port),
    isTls,
    path: `${pathname}${search}`,
    authority: host,
  };
  addresses.set(url, address);
  return address;
}
