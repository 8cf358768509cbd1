import type { Server, ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";

/** How long running responses may take when a server stops, and what ends those that take longer. */
export interface Drain {
  readonly drainMs: number;
  /** Ends the calls that still run with an error that their clients understand. */
  cut?(): void;
}

/** An HTTP server that can stop without losing a call. */
export interface StoppableServer {
  /** From now on every response asks its client to close the connection, also responses of running calls that have not begun. */
  announceStop(): void;
  /** Accepts no new connections, waits for running responses as `drain` says (not at all without it), then closes all connections. */
  stop(drain?: Drain): Promise<void>;
}

/** How often connections are closed that became idle when their response ended. */
const SWEEP_MS = 250;
/** Time for the last errors of calls that were cut. */
const CUT_MS = 2000;

/** Follows the connections of a server, each once and not each call, so that their responses can be reached when the server stops. */
export function stoppable(server: Server | TlsServer): StoppableServer {
  const sockets = new Set<Socket>();
  for (const event of ["connection", "secureConnection"]) {
    server.on(event, (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
  }
  let isAnnounced = false;
  const announceStop = () => {
    if (isAnnounced) return;
    isAnnounced = true;
    for (const event of ["request", "checkContinue"]) {
      server.prependListener(event, (_request: unknown, response: ServerResponse) => closeAfter(response));
    }
    for (const socket of sockets) closeAfter(runningResponse(socket));
  };
  return {
    announceStop,
    stop: async (drain) => {
      announceStop();
      // A server counts its own connections only, not those that another listener gave it.
      const closed = Promise.all([new Promise<void>((resolve) => server.close(() => resolve())), ...[...sockets].map(closeOf)]);
      // The server does not know connections that became WebSockets.
      const closeAll = () => {
        server.closeAllConnections();
        for (const socket of sockets) socket.destroy();
      };
      if (drain) await closeDrained(server, { ...drain, closed, closeAll });
      else closeAll();
      await closed;
    },
  };
}

async function closeDrained(
  server: Server | TlsServer,
  { drainMs, cut = () => {}, closed, closeAll }: Drain & { closed: Promise<unknown>; closeAll: () => void },
): Promise<void> {
  server.closeIdleConnections();
  // A connection whose response began before the announcement becomes idle when it ends.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cutting = setTimeout(cut, drainMs);
  const closing = setTimeout(closeAll, drainMs + CUT_MS);
  await closed;
  clearInterval(sweep);
  clearTimeout(cutting);
  clearTimeout(closing);
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
  });
}

function closeAfter(response: ServerResponse | undefined): void {
  if (response && !response.headersSent) response.setHeader("connection", "close");
}

/** Node has no public way from a connection to its response; this field has been there since its first versions. */
function runningResponse(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse })._httpMessage;
}
