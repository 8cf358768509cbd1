import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Options, RequestHandler } from "http-proxy-middleware";
import { allowSlowBody } from "../../../../common/slow-body.ts";

export type Forward = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export type ForwardOptions = Pick<Options, "target" | "router" | "agent" | "pathRewrite" | "proxyTimeout"> & {
  /** Changes the headers of the forwarded request. */
  onSend(sent: ClientRequest, request: IncomingMessage): void;
  /** Changes the headers of the response before it is sent back. */
  onAnswer?(answer: IncomingMessage, request: IncomingMessage): void;
};

/**
 * Forwards a request and its response unchanged except for headers. Resolves when the response has ended; rejects if the target cannot be
 * reached.
 */
export function createForward({ onSend, onAnswer, ...options }: ForwardOptions): Forward {
  const failures = new WeakMap<IncomingMessage, (error: unknown) => void>();
  let loaded: Promise<RequestHandler> | undefined;
  const load = async () => {
    const { createProxyMiddleware } = await import("http-proxy-middleware");
    return createProxyMiddleware({
      ...options,
      changeOrigin: true,
      ejectPlugins: true,
      plugins: [
        (server) => {
          // Some failures arrive as this event, some by `next`. Without a listener the event would be thrown.
          server.on("error", (error, request) => request && failures.get(request)?.(error));
          server.on("proxyReq", (sent, request) => {
            // The edge has authenticated the call. Nodes refuse the pages of other origins, and the edge's console is one of them.
            sent.removeHeader("origin");
            onSend(sent, request);
          });
          if (onAnswer) server.on("proxyRes", onAnswer);
        },
      ],
    });
  };
  return (request, response) =>
    new Promise((resolve, reject) => {
      allowSlowBody(request);
      // Node throws, outside of any handler, for a forwarded request with this header and without chunks. Trailers are not forwarded.
      delete request.headers.trailer;
      // After the response has started, a failure can only close the connection.
      const fail = (error: unknown) => void (response.headersSent ? response.destroy() : reject(error));
      failures.set(request, fail);
      response.once("close", resolve);
      // The edge has answered it. A request with this header would be forwarded without `onSend`, so with the caller's credentials.
      delete request.headers.expect;
      // Loaded with the first request, because most edges forward nothing.
      loaded ??= load();
      loaded.then((forward) => (response.destroyed ? undefined : forward(request, response, fail))).catch(fail);
    });
}
