import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../common/clock.ts";
import { boundUnreadBody } from "../common/unread-body.ts";

export interface RunningServer {
  readonly port: number;
  /** Takes no new connections and lets running calls end for up to `graceMs`, then cuts them. */
  stop(graceMs: number): Promise<void>;
}

const KEEP_ALIVE_MS = 75_000;

export async function startServer(app: RequestListener, options: { host: string; port: number; clock: Clock }): Promise<RunningServer> {
  const answer: RequestListener = (request, response) => {
    boundUnreadBody(request, response);
    app(request, response);
  };
  const server = createServer(answer);
  // A large model takes longer than any fixed time; read-body.ts cuts bodies that stand still instead.
  server.requestTimeout = 0;
  // Longer than proxies and clients keep theirs: whoever closes a line at rest must not be the one a call is just being sent to.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // The default would say "go on" to a body that read-body.ts is about to refuse.
  server.on("checkContinue", answer);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: async (graceMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const waiting = new AbortController();
      await Promise.race([closed, options.clock.sleep(graceMs, waiting.signal).catch(() => {})]);
      waiting.abort();
      server.closeAllConnections();
      await closed;
    },
  };
}
