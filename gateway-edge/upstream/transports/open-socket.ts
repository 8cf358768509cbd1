import type { ClientRequestArgs, IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { WebSocket } from "ws";
import type { Guard } from "../../../common/outbound.ts";
import type { UpstreamFailure, UpstreamTls } from "../providers/provider.ts";
import { type Address, addressOf } from "./address.ts";
import { openTunnel } from "./http1/tunnel.ts";
import type { ProxyOf, UpstreamProxy } from "./proxies.ts";
import { secureContextOf } from "./tls-identity.ts";

export interface SocketTarget {
  /** An http or https address. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: UpstreamTls | undefined;
}

export interface SocketOptions {
  readonly guard: Guard;
  readonly proxyOf: ProxyOf;
  readonly signal: AbortSignal;
  readonly handshakeMs: number;
  readonly messageBytesMax: number;
}

/** An upstream that answers a handshake with another status than 101. */
export class RefusedHandshake extends Error {
  readonly failure: UpstreamFailure;

  constructor(failure: UpstreamFailure) {
    super(`the upstream answered ${failure.status} to the handshake`);
    this.failure = failure;
  }
}

const REFUSAL_BYTES_MAX = 64 * 1024;

/** Opens a WebSocket to an upstream. It is paused: no message is lost before its reader is there. */
export function openSocket(
  { url, headers, tls }: SocketTarget,
  { guard, proxyOf, signal, handshakeMs, messageBytesMax }: SocketOptions,
): Promise<WebSocket> {
  const address = new URL(url.replace(/^http/, "ws"));
  guard.checkHost(address.hostname);
  const limits = { handshakeTimeout: handshakeMs, maxPayload: messageBytesMax, perMessageDeflate: false, followRedirects: false };
  const secure = { rejectUnauthorized: true, ...(tls === undefined ? undefined : { secureContext: secureContextOf(tls) }) };
  const proxy = proxyOf(addressOf(url));
  const place = proxy ? { createConnection: tunneled(proxy, addressOf(url), handshakeMs) } : { lookup: guard.lookup };
  const socket = new WebSocket(address, { headers, ...place, ...secure, ...limits });
  return new Promise((resolve, reject) => {
    const abort = () => socket.terminate();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const fail = (error: Error) => {
      signal.removeEventListener("abort", abort);
      reject(error);
    };
    socket.on("error", fail);
    socket.once(
      "unexpected-response",
      (_request, response) =>
        void readRefusal(response)
          .then(fail, fail)
          .finally(() => socket.terminate()),
    );
    socket.once("open", () => {
      socket.pause();
      signal.removeEventListener("abort", abort);
      resolve(socket);
    });
  });
}

/** A WebSocket passes a proxy in a tunnel, encrypted or not. */
function tunneled(proxy: UpstreamProxy, address: Address, handshakeMs: number) {
  return (options: ClientRequestArgs, created: (error: Error | null, socket: Duplex) => void): undefined => {
    const servername = isIP(address.host) === 0 ? address.host : "";
    const enter = () => (address.isTls ? connectTls({ ...(options as ConnectionOptions), socket: tunnel, servername }) : tunnel);
    const tunnel = openTunnel(proxy, address, () => {
      tunnel.setTimeout(0).off("error", failed);
      created(null, enter());
    });
    const failed = (error: Error) => created(error, tunnel);
    tunnel.once("error", failed);
    tunnel.setTimeout(handshakeMs, () => tunnel.destroy(new Error(`the proxy opened no tunnel within ${handshakeMs} ms`)));
    return undefined;
  };
}

async function readRefusal(response: IncomingMessage): Promise<RefusedHandshake> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > REFUSAL_BYTES_MAX) break;
    chunks.push(chunk);
  }
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  return new RefusedHandshake({ status: response.statusCode ?? 0, headers, body: parsed(Buffer.concat(chunks).toString("utf8")) });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
