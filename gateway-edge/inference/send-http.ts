import { Readable } from "node:stream";
import { Agent, type Dispatcher } from "undici";
import { AppError } from "../../common/errors.ts";
import type { Send, Signing, UpstreamRequest, UpstreamResponse } from "../providers/provider.ts";

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
  return async (unsigned, signal) => {
    signal.throwIfAborted();
    const request = await signed(unsigned, signers);
    const life = new CallLife(signal, totalMs);
    try {
      const response = await agent.request(dispatchOf(request, life.signal));
      return { status: response.statusCode, headers: flatten(response.headers), body: pulled(response.body, life) };
    } catch (thrown) {
      life.end();
      throw thrown;
    }
  };
}

async function signed(request: UpstreamRequest, signers: HttpSendOptions["signers"]): Promise<UpstreamRequest> {
  const { signing } = request;
  if (signing === undefined) return request;
  return signing.type === "google" ? await signers.google(request, signing) : await signers.aws(request, signing);
}

/** The method, address, headers and body that the adapter built, and nothing of the client's own request. */
function dispatchOf(
  { method = "POST", url, headers, body }: UpstreamRequest,
  signal: AbortSignal,
): { origin: string; path: string } & Dispatcher.RequestOptions {
  const { origin, pathname, search, protocol, username, password } = new URL(url);
  if ((protocol !== "https:" && protocol !== "http:") || username !== "" || password !== "") {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", {
      internal: `an address of the kind ${protocol} or with a user`,
    });
  }
  const content = method === "GET" ? null : typeof body === "string" ? body : Readable.from(body, { objectMode: false });
  // Asked for plainly: compressed answers would have to be unpacked, and a stream of them comes in lumps.
  return { origin, path: `${pathname}${search}`, method, headers: { ...headers, "accept-encoding": "identity" }, body: content, signal };
}

/** One call from its start to its last byte; whatever ends it also lets go of the client's signal and of the timer. */
class CallLife {
  readonly #abort = new AbortController();
  readonly #client: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onClientAbort = () => {
    this.end();
    this.#abort.abort(this.#client.reason);
  };

  constructor(client: AbortSignal, totalMs: number) {
    this.#client = client;
    client.addEventListener("abort", this.#onClientAbort, { once: true });
    this.#timer = setTimeout(() => this.#abort.abort(new CallTooLong(totalMs)), totalMs);
    this.#timer.unref();
    // Signing waits: the client may have left meanwhile.
    if (client.aborted) this.#onClientAbort();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#client.removeEventListener("abort", this.#onClientAbort);
  }
}

class CallTooLong extends Error {
  readonly code = "ETIMEDOUT";

  constructor(totalMs: number) {
    super(`the call took longer than ${totalMs} ms`);
  }
}

/** Bytes as they are asked for. Whoever stops asking, or an abort, destroys the rest and with it the connection. */
async function* pulled(body: Dispatcher.ResponseData["body"], life: CallLife): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } finally {
    life.end();
    body.destroy();
  }
}

function flatten(headers: Dispatcher.ResponseData["headers"]): UpstreamResponse["headers"] {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );
}
