import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Express, Request, Response } from "express";
import { type Clock, systemClock } from "../../common/clock.ts";
import { hasSeveralHosts } from "../../common/host-header.ts";
import { newId } from "../../common/ids.ts";
import { createServer } from "../../common/node-http.ts";
import { systemRandom } from "../../common/random.ts";
import { boundSlowBody } from "../../common/slow-body.ts";
import { type StoppableServer, stoppable } from "../../common/stoppable-server.ts";
import { boundUnreadBody } from "../../common/unread-body.ts";
import type { CallRequest, CallResponse } from "../calls/http-exchange.ts";
import type { ExactRoutes } from "./http/exact-routes.ts";
import type { Upgrades } from "./http/realtime/realtime-upgrade.ts";
import { CallConnections } from "./http1/call-connections.ts";
import { BODY_LIMITS, CHECK_INTERVAL_MS, HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS } from "./http1/limits.ts";
import { listenWithMany, type Place } from "./listeners.ts";
import { ownObjects } from "./own-objects.ts";

const HEADERS_MAX = 64;
/** For a client that still sends what is refused, to read the refusal. */
const LINGER_MS = 1000;

/** Where to listen, and what sees the requests. */
export interface ListenOptions extends Place {
  /** Sees every request before the app does. */
  observe(request: CallRequest, response: CallResponse): void;
  /** Routes that are matched before the app; absent: none are. */
  exact?: ExactRoutes | undefined;
  /** Requests that become WebSockets; absent: none do. */
  upgrades?: Upgrades | undefined;
  /** For the limits of requests that do not arrive; absent: the system's. */
  clock?: Clock | undefined;
}

/** An open HTTP server. */
export interface Listener extends StoppableServer {
  readonly port: number;
}

/** Opens an HTTP server with limits on everything that a slow or hostile client could occupy. */
export async function listen(app: Express, options: ListenOptions): Promise<Listener> {
  const { clock = systemClock } = options;
  const refuseLate = (socket: Socket) => refuseUnreadable({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, socket);
  const slowBodies = { clock, limits: BODY_LIMITS, refuse: refuseLate };
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      // `boundSlowBody` has the limits: uploads take longer than other requests may.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      noDelay: true,
      // Refused below, with ids, as everything else is.
      requireHostHeader: false,
      shouldUpgradeCallback: (request) => options.upgrades?.accepts(request) ?? false,
      ...ownObjects(app),
    },
    (incoming, outgoing) => {
      // `ownObjects` made them.
      const [request, response] = [incoming as Request, outgoing as Response];
      options.observe(request, response);
      boundUnreadBody(request, response);
      boundSlowBody(request, response, slowBodies);
      // An absolute URL is a request to a proxy, which this server is not.
      if (!request.url?.startsWith("/")) return refuse(response, "The request target must be a path that starts with /.");
      if (request.headers.host === undefined && request.httpVersion === "1.1") return refuse(response, "The request has no Host header.");
      if (hasSeveralHosts(request)) return refuse(response, "The request has more than one Host header.");
      if (!options.exact?.answer(request, response)) app(request, response);
    },
  );
  // Before anything else listens to connections.
  const calls = new CallConnections(server, {
    clock,
    paths: options.exact?.paths ?? [],
    answer: (request, response) => {
      options.observe(request, response);
      options.exact?.answer(request, response);
    },
    refuseLate,
  });
  const stopping = stoppable(server);
  server.maxHeadersCount = HEADERS_MAX;
  server.on("clientError", refuseUnreadable);
  server.on("checkExpectation", (request, response) => {
    options.observe(request as Request, response as Response);
    refuse(response, "No expectation but 100-continue can be met.", 417);
  });
  let isStopping = false;
  server.on("upgrade", (request, socket, head) => {
    if (isStopping) socket.destroy();
    else if (request.headers.host === undefined) refuseUnreadable({}, socket as Socket);
    else options.upgrades?.handle(request, socket, head);
  });
  const listeners = await listenWithMany(server, options);
  const announceStop = () => {
    calls.isStopping = true;
    stopping.announceStop();
  };
  const stop: Listener["stop"] = async (drain) => {
    isStopping = true;
    announceStop();
    calls.closeIdle();
    await Promise.all([stopping.stop(drain), listeners.close()]);
  };
  return { port: listeners.port, announceStop, stop };
}

function refuse(response: ServerResponse, message: string, status = 400): void {
  response.writeHead(status, { ...PLAIN_HEADERS, ...newIds(), connection: "close" });
  response.end(errorText(message));
}

/** Every answer has them, also where there is no request that could. */
function newIds(): Readonly<Record<string, string>> {
  const source = { clock: systemClock, random: systemRandom };
  return { "x-request-id": newId("req", source), "x-gw-call-id": newId("call", source) };
}

/** Answers bytes that are not valid HTTP; there is no request, only a socket. */
function refuseUnreadable(error: { readonly code?: string | undefined }, socket: Socket): void {
  if (error.code === "ECONNRESET") return void socket.destroy();
  // More of what was refused: it is read until the connection is closed, because a reset would reach the client before the refusal does.
  if (socket.writableEnded) return;
  if (!socket.writable) return void socket.destroy();
  const [status, message] = UNREADABLE[error.code ?? ""] ?? ["400 Bad Request", "The request is not valid HTTP."];
  const body = errorText(message);
  const headers = { ...PLAIN_HEADERS, ...newIds(), "content-length": Buffer.byteLength(body), connection: "close" };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const cancelCut = systemClock.after(LINGER_MS, () => socket.destroy());
  socket.once("close", cancelCut);
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`);
}

const PLAIN_HEADERS = { "content-type": "application/json; charset=utf-8", "x-content-type-options": "nosniff" };

const UNREADABLE: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "The request headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request did not arrive in time."],
};

function errorText(message: string): string {
  return JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: null } });
}
