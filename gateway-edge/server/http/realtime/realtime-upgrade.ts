import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Response } from "express";
import { type WebSocket, WebSocketServer } from "ws";
import { AppError } from "../../../../common/errors.ts";
import { newId } from "../../../../common/ids.ts";
import { ServerResponse } from "../../../../common/node-http.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../../calls/create.ts";
import { beginError, gatewayErrorBody, gatewayErrorStatus } from "../../../calls/gateway-error.ts";
import { traceTagsOf } from "../../../calls/tracing/trace-tag.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { AuthProfile } from "../../middleware/authenticate-key.ts";
import { keyAuthentication } from "../../middleware/authenticate-key.ts";
import { assignRequestId } from "../../middleware/request-id.ts";
import { type Gate, overloaded } from "../gate.ts";
import { REALTIME_PATHS } from "./realtime-operations.ts";

/** Requests that become WebSockets. */
export interface Upgrades {
  /** Whether a request is one of them; any other request with an `Upgrade` header is answered as if it had none. */
  accepts(request: IncomingMessage): boolean;
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

const KEY_PROTOCOL = "openai-insecure-api-key.";
const BETA_PROTOCOL = "openai-beta.realtime-v1";
const ENDPOINT = "/v1/realtime";

/** `GET /v1/realtime` with an upgrade: the session is opened at the provider first, so that a refusal is a plain HTTP error. */
export function realtimeUpgrades(
  deps: EdgeDeps,
  parts: { inference: Inference; authProfile: AuthProfile; overload?: Gate["overload"] },
): Upgrades {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: deps.config.jsonBodyBytesMax,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has("realtime") ? "realtime" : false),
  });
  const authenticate = keyAuthentication(parts.authProfile, parts.inference);
  return {
    accepts: isRealtime,
    handle: (request, socket, head) => {
      const upgrade = new Upgrade(deps, { ...parts, server, authenticate, request, socket, head });
      upgrade.run().catch((thrown: unknown) => deps.logger.error({ error: String(thrown) }, "a realtime session failed"));
    },
  };
}

function isRealtime({ method, url, headers }: IncomingMessage): boolean {
  const path = (url ?? "").split("?", 1)[0] ?? "";
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && REALTIME_PATHS.includes(path);
}

interface UpgradeParts {
  readonly inference: Inference;
  readonly overload?: Gate["overload"];
  readonly server: WebSocketServer;
  readonly authenticate: ReturnType<typeof keyAuthentication>;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

class Upgrade {
  readonly #deps: EdgeDeps;
  readonly #parts: UpgradeParts;
  readonly #callId: string;
  readonly #left = new AbortController();

  constructor(deps: EdgeDeps, parts: UpgradeParts) {
    this.#deps = deps;
    this.#parts = parts;
    this.#callId = newId("call", deps);
  }

  async run(): Promise<void> {
    const { socket, request, overload } = this.#parts;
    const leave = () => this.#left.abort(new AppError("UPSTREAM_UNAVAILABLE", "The client disconnected."));
    socket.on("error", leave);
    socket.once("close", leave);
    let caller: Caller | undefined;
    const model = this.#model();
    try {
      const retryAfterSeconds = overload?.refusal(request);
      if (retryAfterSeconds !== undefined) throw overloaded(retryAfterSeconds);
      caller = await this.#caller();
      const connected = await this.#connect(model);
      if (this.#left.signal.aborted) return await connected.abandon();
      await connected.run(await this.#accept());
    } catch (thrown) {
      this.#refuse(thrown, { caller, model });
    }
  }

  #caller(): Caller | Promise<Caller> {
    return this.#parts.authenticate(withProtocolKey(this.#parts.request));
  }

  #model(): string {
    return new URL(this.#parts.request.url ?? "", "http://edge").searchParams.get("model") ?? "";
  }

  #connect(model: string) {
    const { request, inference } = this.#parts;
    refuseInvalid(request);
    if (model === "") throw new AppError("INVALID_REQUEST", "Name the model in the query: /v1/realtime?model=...", { param: "model" });
    return inference.realtime.connect({
      callId: this.#callId,
      model,
      endpoint: ENDPOINT,
      callerNow: () => this.#caller(),
      headers: betaHeaders(request),
      signal: this.#left.signal,
    });
  }

  /** The handshake was checked, so the callback is always called. */
  #accept(): Promise<WebSocket> {
    const { server, request, socket, head } = this.#parts;
    return new Promise((resolve) => server.handleUpgrade(request, socket, head, resolve));
  }

  #refuse(thrown: unknown, { caller, model }: { caller: Caller | undefined; model: string }): void {
    const { request, socket, inference } = this.#parts;
    if (this.#left.signal.aborted) return void socket.destroy();
    const response = Object.assign(new ServerResponse(request), { locals: {} }) as unknown as Response;
    response.shouldKeepAlive = false;
    response.assignSocket(socket as never);
    assignRequestId(request, response, this.#deps);
    response.setHeader("x-gw-call-id", this.#callId);
    const error = beginError(thrown, response);
    if (!error) return;
    const status = gatewayErrorStatus(error);
    if (caller && status < 500) {
      inference.refused({
        callId: this.#callId,
        caller,
        endpoint: ENDPOINT,
        model,
        stream: true,
        endUser: undefined,
        tags: traceTagsOf(request),
        error,
        httpStatus: status,
      });
    }
    response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
    response.end(JSON.stringify(gatewayErrorBody(error)), () => socket.end());
  }
}

function refuseInvalid({ headers, url }: IncomingMessage): void {
  const isHandshake = /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "") && headers["sec-websocket-version"] === "13";
  if (!isHandshake) throw new AppError("INVALID_REQUEST", "The request is not a valid WebSocket handshake.");
  const query = new URL(url ?? "", "http://edge").searchParams;
  // They would reach calls and sessions of the provider account, which all tenants share.
  for (const name of ["call_id", "intent"]) {
    if (query.has(name))
      throw new AppError("UNSUPPORTED_PARAMETER", `${name} is not supported; open a session with model.`, { param: name });
  }
}

/** Browsers cannot set headers: OpenAI's clients send the key as a subprotocol there. */
function withProtocolKey(request: IncomingMessage): IncomingMessage {
  const key = protocolsOf(request).find((protocol) => protocol.startsWith(KEY_PROTOCOL));
  if (key === undefined) return request;
  const rawHeaders = [...request.rawHeaders, "authorization", `Bearer ${key.slice(KEY_PROTOCOL.length)}`];
  return { socket: request.socket, rawHeaders } as IncomingMessage;
}

function betaHeaders(request: IncomingMessage): Record<string, string> {
  const given = request.headers["openai-beta"];
  if (typeof given === "string") return { "openai-beta": given };
  return protocolsOf(request).includes(BETA_PROTOCOL) ? { "openai-beta": "realtime=v1" } : {};
}

function protocolsOf({ headers }: IncomingMessage): readonly string[] {
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((protocol) => protocol.trim());
}
