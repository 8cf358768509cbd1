import type { Server } from "node:http";
import { type AddressInfo, createServer, type ListenOptions, type Server as NetServer } from "node:net";

/**
 * Listening sockets of one server. libuv accepts one connection of a socket in a turn of the event loop, and with a thousand busy connections a turn takes a
 * tenth of a second: a new client would wait behind all others that connect. The kernel divides connections among sockets of one port on Linux only.
 */
const SOCKETS = process.platform === "linux" ? 32 : 1;
/** Connections that wait to be accepted. With 511, as Node has it, thousands that come at once wait for seconds until they are sent again. */
const BACKLOG = 8192;

/** Where to listen. */
export interface Place {
  readonly host: string;
  readonly port: number;
  /** Whether other processes may listen there, too. */
  readonly reusePort: boolean;
}

/** The sockets of a server besides its own. */
export interface Listeners {
  readonly port: number;
  /** Accepts no more connections; resolves when all that were accepted are closed. */
  close(): Promise<void>;
}

/** Makes a server listen with several sockets. All its connections are of the server, however they came. */
export async function listenWithMany(server: Server, { host, port, reusePort }: Place): Promise<Listeners> {
  const isShared = reusePort || SOCKETS > 1;
  // Otherwise a second start would share the port and get a part of the calls, instead of failing.
  if (isShared && !reusePort && port !== 0) await requireFree({ host, port });
  const own = await open(server, { host, port, reusePort: isShared });
  const others = Array.from({ length: SOCKETS - 1 }, () => {
    // As an HTTP server makes its connections.
    return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit("connection", socket));
  });
  await Promise.all(others.map((other) => open(other, { host, port: own, reusePort: true })));
  return { port: own, close: async () => void (await Promise.all(others.map(closed))) };
}

async function requireFree(place: Pick<Place, "host" | "port">): Promise<void> {
  const probe = createServer();
  await open(probe, { ...place, reusePort: false });
  await closed(probe);
}

function open(server: Server | NetServer, place: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...place, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closed(server: Server | NetServer): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
