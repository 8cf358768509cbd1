import { Readable } from "node:stream";
import { Agent, type Dispatcher } from "undici";
import type { Clock } from "../../../common/clock.ts";
import { Deadlines } from "../../../common/deadlines.ts";
import type { ConnectionWait, Send, Signing, UpstreamRequest } from "../providers/provider.ts";
import type { ConnectionWaits } from "./connection-wait.ts";
import { HttpExchange } from "./http-exchange.ts";
import { ConnectionPool } from "./http1/connection-pool.ts";
import { type Address, addressOf, isCoding, PLAINLY, serializeRequest } from "./http1/request.ts";

type SigningOf<Type extends Signing["type"]> = Extract<Signing, { type: Type }>;

/** Calls that one upstream has at the same time, unless the operator says otherwise. */
export const CONNECTIONS_MAX = 8192;

export interface HttpSendOptions {
  readonly clock: Clock;
  readonly signers: {
    readonly aws: (request: UpstreamRequest, signing: SigningOf<"aws-sigv4">) => Promise<UpstreamRequest>;
    readonly google: (request: UpstreamRequest, signing: SigningOf<"google">) => Promise<UpstreamRequest>;
  };
  readonly connectMs?: number | undefined;
  /** Connections to one upstream; calls above it wait for one. Undici has as many of its own. */
  readonly connectionsMax?: number | undefined;
  /** Upstreams at one time; a deployment beyond it is refused. */
  readonly originsMax?: number | undefined;
  /** The end of any call, whoever forgot to end it. The caller's own watchdogs are shorter. */
  readonly totalMs?: number | undefined;
}

export type HttpSend = Send & { waits(): ConnectionWaits };

/**
 * The network, once: pooled connections, verified TLS, no redirects, pulled bodies. Errors of the network are thrown with their `code`.
 * Calls go over connections of our own, which cost less than undici's (decision 19); undici carries forms that are written while they are
 * read, and requests with headers out of the ordinary.
 */
export function createHttpSend(options: HttpSendOptions): HttpSend {
  const { signers, clock, connectMs = 5_000, connectionsMax = CONNECTIONS_MAX, originsMax = 512, totalMs = 600_000 } = options;
  const pool = new ConnectionPool({ clock, connectMs, connectionsMax, originsMax });
  const agent = createAgent({ connectMs, connectionsMax, originsMax });
  const deadlines = new Deadlines<HttpExchange>(totalMs, (exchange) => exchange.tookTooLong(totalMs));
  const dispatch = (request: UpstreamRequest, signal: AbortSignal, wait: ConnectionWait | undefined) => {
    signal.throwIfAborted();
    const address = addressOf(request.url);
    const message = serializeRequest(address, request);
    if (message === undefined) return dispatchByAgent(address, request, signal);
    const exchange = new HttpExchange(signal, { deadlines, upload: undefined, wait });
    pool.dispatch(address, { message, handler: exchange });
    return exchange.response;
  };
  const dispatchByAgent = (address: Address, request: UpstreamRequest, signal: AbortSignal) => {
    const options = dispatchOf(address, request);
    const exchange = new HttpExchange(signal, { deadlines, upload: options.body, wait: undefined });
    agent.dispatch(options, exchange);
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
  return Object.assign(send, { waits: () => pool.waits() });
}

function createAgent({ connectMs, connectionsMax, originsMax }: Record<"connectMs" | "connectionsMax" | "originsMax", number>): Agent {
  return new Agent({
    connections: connectionsMax,
    maxOrigins: originsMax,
    pipelining: 1,
    // One call, one connection: an abort frees it at once, and a reset hits nobody else.
    allowH2: false,
    keepAliveTimeout: 10_000,
    connect: { timeout: connectMs, rejectUnauthorized: true },
    // Whoever calls watches the silence before and between bytes; a second watch here would only be in the way.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

async function signed(request: UpstreamRequest, signing: Signing, signers: HttpSendOptions["signers"]): Promise<UpstreamRequest> {
  return signing.type === "google" ? await signers.google(request, signing) : await signers.aws(request, signing);
}

/** The method, address, headers and body that the adapter built, and nothing of the client's own request. */
function dispatchOf({ origin, path }: Address, { method = "POST", headers, body }: UpstreamRequest): Dispatcher.DispatchOptions {
  const content = method === "GET" ? null : typeof body === "string" ? body : Readable.from(body, { objectMode: false });
  const others = Object.fromEntries(Object.entries(headers).filter(([name]) => !isCoding(name)));
  return { origin, path, method, headers: { ...others, ...PLAINLY }, body: content };
}
