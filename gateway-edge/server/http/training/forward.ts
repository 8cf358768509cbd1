import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Options, RequestHandler } from "http-proxy-middleware";

export type Forward = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export type ForwardOptions = Pick<Options, "target" | "router" | "agent" | "pathRewrite" | "proxyTimeout"> & {
  /** The last word on the headers that go on. */
  onSend(sent: ClientRequest, request: IncomingMessage): void;
  /** May change the headers of the answer before they are passed back. */
  onAnswer?(answer: IncomingMessage, request: IncomingMessage): void;
};

/** Passes a request on, and the answer back, as they are but for their headers. Resolves when the answer is over; rejects with what kept the request from there. */
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
          // Some failures come as this event, some by `next`; one that nobody hears is thrown, as if the fault were ours.
          server.on("error", (error, request) => request && failures.get(request)?.(error));
          server.on("proxyReq", onSend);
          if (onAnswer) server.on("proxyRes", onAnswer);
        },
      ],
    });
  };
  return (request, response) =>
    new Promise((resolve, reject) => {
      // Once an answer has begun, its end is all that can be told.
      const fail = (error: unknown) => void (response.headersSent ? response.destroy() : reject(error));
      failures.set(request, fail);
      response.once("close", resolve);
      // Loaded with the first request: most edges pass nothing on.
      loaded ??= load();
      loaded.then((forward) => (response.destroyed ? undefined : forward(request, response, fail))).catch(fail);
    });
}
