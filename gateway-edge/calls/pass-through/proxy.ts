import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { RequestHandler } from "http-proxy-middleware";
import { AppError } from "../../../common/errors.ts";

export interface ProxiedRequest {
  readonly url: URL;
  readonly body: Buffer;
  /** In place of every header that the client sent for us. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ProxiedAnswer {
  readonly response: IncomingMessage;
  /** Breaks the upstream off. */
  abort(): void;
}

/** Sends a request on and gives the answer's head; its body is the caller's to pass on. */
export type Proxy = (request: IncomingMessage, response: ServerResponse, proxied: ProxiedRequest) => Promise<ProxiedAnswer>;

const UPSTREAM_MS_MAX = 600_000;

interface Waiting {
  readonly proxied: ProxiedRequest;
  sent?: ClientRequest;
  answered(answer: ProxiedAnswer): void;
  failed(error: unknown): void;
}

export function createProxy(): Proxy {
  const waiting = new WeakMap<IncomingMessage, Waiting>();
  const waitingFor = (request: IncomingMessage) => {
    const found = waiting.get(request);
    if (!found) throw new Error("a proxied request that nobody waits for");
    return found;
  };
  let loaded: Promise<RequestHandler> | undefined;
  const load = async () => {
    const { createProxyMiddleware } = await import("http-proxy-middleware");
    return createProxyMiddleware({
      changeOrigin: true,
      selfHandleResponse: true,
      ejectPlugins: true,
      proxyTimeout: UPSTREAM_MS_MAX,
      router: (request) => waitingFor(request).proxied.url.origin,
      pathRewrite: (_path, request) => {
        const { url } = waitingFor(request).proxied;
        return url.pathname + url.search;
      },
      plugins: [
        (server) => {
          server.on("proxyReq", (sent, request) => {
            const call = waitingFor(request);
            call.sent = sent;
            send(sent, call.proxied);
          });
          server.on("proxyRes", (response, request) => {
            const { sent, answered } = waitingFor(request);
            answered({ response, abort: () => sent?.destroy() });
          });
          server.on("error", (error, request) => request && waiting.get(request)?.failed(error));
        },
      ],
    });
  };
  return (request, response, proxied) =>
    new Promise((resolve, reject) => {
      const failed = (cause: unknown) => {
        reject(new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal: String(cause), cause }));
      };
      const call: Waiting = { proxied, answered: resolve, failed };
      waiting.set(request, call);
      response.once("close", () => {
        if (!response.writableFinished) call.sent?.destroy();
      });
      // Loaded with the first call: most edges pass nothing through.
      loaded ??= load();
      loaded
        .then((forward) => {
          if (response.destroyed) return failed("the client left");
          return forward(request, response, (error) => error && failed(error));
        })
        .catch(failed);
    });
}

/** The body was read before, for its price: it is written again, and nothing of the client's headers but what we chose. */
function send(sent: ClientRequest, { body, headers }: ProxiedRequest): void {
  for (const name of sent.getHeaderNames()) if (name !== "host") sent.removeHeader(name);
  for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
  if (body.length === 0) return;
  sent.setHeader("content-length", body.length);
  sent.write(body);
}
