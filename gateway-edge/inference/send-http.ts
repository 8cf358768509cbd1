import { Readable } from "node:stream";
import { Agent, type Dispatcher } from "undici";
import { Deadlines } from "../../common/deadlines.ts";
import { AppError } from "../../common/errors.ts";
import type { Send, Signing, UpstreamRequest } from "../providers/provider.ts";
import { HttpExchange } from "./http-exchange.ts";

type SigningOf<Type extends Signing["type"]> = Extract<Signing, { type: Type }>;

export interface HttpSendOptions {
  readonly signers: {
    readonly aws: (request: UpstreamRequest, signing: SigningOf<"aws-sigv4">) => Promise<UpstreamRequest>;
    readonly google: (request: UpstreamRequest, signing: SigningOf<"google">) => Promise<UpstreamRequest>;
  };
  readonly connectMs?: number | undefined;
  /** Connections to one upstream; calls above it wait for one. */
  readonly connectionsMax?: number | undefined;
  /** Upstreams at one time; a deployment beyond it is refused. */
  readonly originsMax?: number | undefined;
  /** The end of any call, whoever forgot to end it. The caller's own watchdogs are shorter. */
  readonly totalMs?: number | undefined;
}

/** The network, once: pooled connections, verified TLS, no redirects, pulled bodies. Errors of the network are thrown with their `code`. */
export function createHttpSend(options: HttpSendOptions): Send {
  const { signers, connectMs = 5_000, connectionsMax = 256, originsMax = 512, totalMs = 600_000 } = options;
  const agent = new Agent({
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
  const deadlines = new Deadlines<HttpExchange>(totalMs, (exchange) => exchange.tookTooLong(totalMs));
  const dispatch = (request: UpstreamRequest, signal: AbortSignal) => {
    signal.throwIfAborted();
    const options = dispatchOf(request);
    const exchange = new HttpExchange(signal, { deadlines, upload: options.body });
    agent.dispatch(options, exchange);
    return exchange.response;
  };
  return (request, signal) => {
    // Signing waits: the client may have left meanwhile.
    if (request.signing !== undefined) return signed(request, request.signing, signers).then((ready) => dispatch(ready, signal));
    try {
      return dispatch(request, signal);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

async function signed(request: UpstreamRequest, signing: Signing, signers: HttpSendOptions["signers"]): Promise<UpstreamRequest> {
  return signing.type === "google" ? await signers.google(request, signing) : await signers.aws(request, signing);
}

/** The method, address, headers and body that the adapter built, and nothing of the client's own request. */
function dispatchOf({ method = "POST", url, headers, body }: UpstreamRequest): Dispatcher.DispatchOptions {
  const { origin, path } = addressOf(url);
  const content = method === "GET" ? null : typeof body === "string" ? body : Readable.from(body, { objectMode: false });
  // Asked for plainly: compressed answers would have to be unpacked, and a stream of them comes in lumps.
  return { origin, path, method, headers: { ...headers, "accept-encoding": "identity" }, body: content };
}

interface Address {
  readonly origin: string;
  readonly path: string;
}

const ADDRESSES_MAX = 1024;
/** Deployments have few addresses, and each call would read its own again. */
const addresses = new Map<string, Address>();

function addressOf(url: string): Address {
  const known = addresses.get(url);
  if (known) return known;
  const { origin, pathname, search, protocol, username, password } = new URL(url);
  if ((protocol !== "https:" && protocol !== "http:") || username !== "" || password !== "") {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", {
      internal: `an address of the kind ${protocol} or with a user`,
    });
  }
  if (addresses.size >= ADDRESSES_MAX) addresses.clear();
  const address = { origin, path: `${pathname}${search}` };
  addresses.set(url, address);
  return address;
}
