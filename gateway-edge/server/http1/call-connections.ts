import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../../common/clock.ts";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";
import { CallConnection, type ConnectionDeps } from "./call-connection.ts";
import { CHECK_INTERVAL_MS, HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS } from "./limits.ts";
import { requestLines } from "./request-head.ts";

interface CallConnectionsOptions {
  readonly clock: Clock;
  /** Paths of POST requests that are calls. */
  readonly paths: Iterable<string>;
  answer(request: CallRequest, response: CallResponse): void;
  /** Refuses a request that did not arrive in time. */
  refuseLate(socket: Socket): void;
}

/** Of all connections: these requests are not authenticated yet. What exceeds it is left to Node. */
const HELD_BYTES_MAX = 16 * 1024 * 1024;

const checksIn = (milliseconds: number) => Math.ceil(milliseconds / CHECK_INTERVAL_MS) + 1;

/** After so many checks in its state a connection is closed, or left to Node if it reads a body: most come at once. */
const CHECKS = {
  fresh: checksIn(HEADERS_TIMEOUT_MS),
  reading: checksIn(CHECK_INTERVAL_MS),
  idle: checksIn(KEEP_ALIVE_TIMEOUT_MS),
};

/**
 * The connections of a server whose requests so far were calls. They take the place of the listener with which Node's server reads each connection, and
 * give it the connections that it has to read.
 */
export class CallConnections implements ConnectionDeps {
  readonly lines: ConnectionDeps["lines"];
  isStopping = false;
  readonly #options: CallConnectionsOptions;
  readonly #server: Server;
  readonly #listeners: readonly ((socket: Socket) => void)[];
  readonly #open = new Set<CallConnection>();
  #heldBytes = 0;
  #isClosed = false;
  #cancelCheck: (() => void) | undefined;

  constructor(server: Server, options: CallConnectionsOptions) {
    this.lines = requestLines(options.paths);
    this.#options = options;
    this.#server = server;
    this.#listeners = server.listeners("connection") as ((socket: Socket) => void)[];
    server.removeAllListeners("connection");
    server.on("connection", (socket) => this.#accept(socket));
  }

  answer(request: CallRequest, response: CallResponse): void {
    this.#options.answer(request, response);
  }

  mayHold(bytes: number): boolean {
    if (this.#heldBytes + bytes > HELD_BYTES_MAX) return false;
    this.#heldBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  handOver(socket: Socket, bytes: Buffer): void {
    for (const listener of this.#listeners) listener.call(this.#server, socket);
    socket.emit("data", bytes);
  }

  closed(connection: CallConnection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  /** Closes the connections that wait for a request, their first or their next, and those that were waiting to be accepted. */
  closeIdle(): void {
    this.#isClosed = true;
    for (const { state, socket } of this.#open) if (state === "idle" || state === "fresh") socket.destroy();
  }

  #accept(socket: Socket): void {
    if (this.#isClosed) {
      socket.destroy();
      return;
    }
    this.#open.add(new CallConnection(socket, this));
    if (!this.#cancelCheck) this.#checkLater();
  }

  /** Only while there are connections. */
  #checkLater(): void {
    this.#cancelCheck = this.#options.clock.after(CHECK_INTERVAL_MS, () => {
      this.#checkLater();
      for (const connection of this.#open) this.#check(connection);
    });
  }

  #check(connection: CallConnection): void {
    const { state, socket } = connection;
    if (state === "answering" || state === "closing" || connection.checked() < CHECKS[state]) return;
    if (state === "reading") {
      connection.leave();
      return;
    }
    connection.close();
    if (state === "idle") socket.destroy();
    else this.#options.refuseLate(socket);
  }
}
