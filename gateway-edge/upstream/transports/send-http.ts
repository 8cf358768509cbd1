import type { CancelSignal } from "../../../common/cancel.ts";
import type { Clock } from "../../../common/clock.ts";
import { Deadlines } from "../../../common/deadlines.ts";
import { type Guard, OPERATOR_GUARD } from "../../../common/outbound.ts";
import type { ConnectionWait, Send, Signing, UpstreamRequest } from "../providers/provider.ts";
import { addressOf } from "./address.ts";
import type { ConnectionWaits } from "./connection-wait.ts";
import { HttpExchange } from "./http-exchange.ts";
import { createHttp1Transport } from "./http1/transport.ts";
import { NO_PROXIES, type ProxyOf } from "./proxies.ts";
import type { TransportName } from "./transport.ts";
import { createUndiciTransport } from "./undici-transport.ts";

type SigningOf<Type extends Signing["type"]> = Extract<Signing, { type: Type }>;

/** Calls that one upstream has at the same time, unless the operator configures another number. */
export const CONNECTIONS_MAX = 8192;

/** Longer than timeouts that are configured: a model that thinks for hours has a stream as long. */
const CALL_MS_MAX = 24 * 3_600_000;

export interface HttpSendOptions {
  readonly clock: Clock;
  readonly signers: {
    readonly aws: (request: UpstreamRequest, signing: SigningOf<"aws-sigv4">) => Promise<UpstreamRequest>;
    readonly google: (request: UpstreamRequest, signing: SigningOf<"google">) => Promise<UpstreamRequest>;
  };
  /** The guard of new connections to an origin. Absent: every address but link-local ones is allowed. */
  readonly guardFor?: ((origin: string) => Guard) | undefined;
  /** Absent: every upstream is called directly. */
  readonly proxyOf?: ProxyOf | undefined;
  /** Absent: http1. */
  readonly transport?: TransportName | undefined;
  readonly connectMs?: number | undefined;
  /** Connections to one upstream; calls above it wait for one. */
  readonly connectionsMax?: number | undefined;
  /** Upstreams at one time; a deployment beyond it is refused. */
  readonly originsMax?: number | undefined;
  /** The end of any call, even if no watchdog ends it. */
  readonly totalMs?: number | undefined;
}

export type HttpSend = Send & {
  waits(): ConnectionWaits;
  /** Bytes of each running answer that its reader has not processed. */
  heldBytes(): number[];
};

/** The network: pooled connections, verified TLS, no redirects, pulled bodies. Errors of the network are thrown with their `code`. */
export function createHttpSend(options: HttpSendOptions): HttpSend {
  const { signers, clock, connectMs = 5_000, connectionsMax = CONNECTIONS_MAX, originsMax = 512, totalMs = CALL_MS_MAX } = options;
  const { guardFor = () => OPERATOR_GUARD, proxyOf = NO_PROXIES } = options;
  const parts = { guardFor, proxyOf, connectMs, connectionsMax, originsMax };
  const transport = options.transport === "undici" ? createUndiciTransport(parts) : createHttp1Transport({ ...parts, clock });
  const deadlines = new Deadlines<HttpExchange>(totalMs, (exchange) => exchange.tookTooLong(totalMs));
  const dispatch = (request: UpstreamRequest, signal: CancelSignal, wait: ConnectionWait | undefined) => {
    signal.throwIfAborted();
    const address = addressOf(request.url);
    const exchange = new HttpExchange(signal, { deadlines, wait });
    try {
      transport.dispatch(address, request, exchange);
    } catch (error) {
      exchange.onResponseError(null, error as Error);
    }
    return exchange.response;
  };
  const send: Send = (request, signal, wait) => {
    // Signing waits: the client may have left meanwhile.
    if (request.signing !== undefined) return signed(request, request.signing, signers).then((ready) => dispatch(ready, signal, wait));
    try {
      return dispatch(request, signal, wait);
    } catch (error) {
      return Promise.reject(error);
    }
  };
  const heldBytes = () => [...deadlines.entries()].map((exchange) => exchange.heldBytes);
  return Object.assign(send, { waits: () => transport.waits(), heldBytes });
}

async function signed(request: UpstreamRequest, signing: Signing, signers: HttpSendOptions["signers"]): Promise<UpstreamRequest> {
  return signing.type === "google" ? await signers.google(request, signing) : await signers.aws(request, signing);
}
