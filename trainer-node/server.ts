import type { RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { hasSeveralHosts } from "../common/host-header.ts";
import { createServer } from "../common/node-http.ts";
import type { Tls } from "../common/peers/tls.ts";
import { type StoppableServer, stoppable } from "../common/stoppable-server.ts";
import { boundUnreadBody } from "../common/unread-body.ts";

/** A listening HTTP server. */
export interface RunningServer extends StoppableServer {
  readonly port: number;
}

const KEEP_ALIVE_MS = 75_000;
/** A head is small: a client that takes longer to send it only occupies a connection. */
const HEADERS_TIMEOUT_MS = 10_000;
const CHECK_INTERVAL_MS = 5000;

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** HTTPS. Whether clients need a certificate of TLS_CA, or may have one. */
  readonly tls?: (Tls & { readonly clients: "required" | "optional" }) | undefined;
}

/** Starts an HTTP or HTTPS server for an app. */
export async function startServer(app: RequestListener, options: ServerOptions): Promise<RunningServer> {
  const answer: RequestListener = (request, response) => {
    boundUnreadBody(request, response);
    response.setHeader("x-content-type-options", "nosniff");
    if (!hasSeveralHosts(request)) return void app(request, response);
    response.writeHead(400, { "content-type": "application/json; charset=utf-8", connection: "close" });
    response.end(JSON.stringify({ error: "The request has more than one Host header.", code: "VALIDATION_ERROR" }));
  };
  const { tls } = options;
  const limits = { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CHECK_INTERVAL_MS };
  const server = tls
    ? createTlsServer({ ...limits, ...tls, requestCert: tls.ca !== undefined, rejectUnauthorized: tls.clients === "required" }, answer)
    : createServer(limits, answer);
  const stopping = stoppable(server);
  // No fixed time fits the upload of a large model. read-body.ts ends bodies whose sender pauses for too long instead.
  server.requestTimeout = 0;
  // Longer than the keep-alive of common proxies and clients, so that the caller closes idle connections: a server that closes first may do
  // so while a request is on its way.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // The default handler would answer 100 Continue to a body that read-body.ts is about to refuse.
  server.on("checkContinue", answer);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, ...stopping };
}
