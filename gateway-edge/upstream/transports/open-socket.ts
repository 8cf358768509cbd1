import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { Guard } from "../../../common/outbound.ts";
import type { UpstreamFailure } from "../providers/provider.ts";

export interface SocketTarget {
  /** An http or https address. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface SocketOptions {
  readonly guard: Guard;
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
  { url, headers }: SocketTarget,
  { guard, signal, handshakeMs, messageBytesMax }: SocketOptions,
): Promise<WebSocket> {
  const address = new URL(url.replace(/^http/, "ws"));
  guard.checkHost(address.hostname);
  const limits = { handshakeTimeout: handshakeMs, maxPayload: messageBytesMax, perMessageDeflate: false, followRedirects: false };
  const socket = new WebSocket(address, { headers, lookup: guard.lookup, rejectUnauthorized: true, ...limits });
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
