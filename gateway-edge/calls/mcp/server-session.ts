import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { ignore } from "../../../common/ignore.ts";
import type { Guard } from "../../../common/outbound.ts";
import { VERSION } from "../../../common/version.ts";
import type { ReachableServer } from "../../../proto/gen/tributary/mcp/v1/mcp.ts";
import type { RpcResponse } from "./json-rpc.ts";
import { PROTOCOL_VERSION, PROTOCOL_VERSIONS } from "./protocol.ts";
import { type AnswerRoom, readResponse, sendToServer, serverFailure } from "./server-request.ts";

export interface SessionDeps {
  readonly guard: Guard;
  readonly clock: Clock;
}

export interface SessionLimits {
  readonly timeoutMs: number;
  /** Ends the work before its time. */
  readonly signal: AbortSignal;
  /** Of all answers of the session; absent: each has its own limit. */
  readonly room?: AnswerRoom | undefined;
}

const END_MS = 5000;

/** A client of one MCP server (streamable HTTP): initializes a session, runs the work in it, and ends it. Throws only AppError. */
export async function inSession<Result>(
  deps: SessionDeps,
  server: ReachableServer,
  { timeoutMs, signal: outer, room, work }: SessionLimits & { work: (session: ServerSession) => Promise<Result> },
): Promise<Result> {
  const { name } = server;
  const late = new AbortController();
  const cancel = deps.clock.after(timeoutMs, () =>
    late.abort(new AppError("UPSTREAM_TIMEOUT", `The MCP server ${name} has not answered within ${timeoutMs / 1000} s.`)),
  );
  const signal = AbortSignal.any([outer, late.signal]);
  const session = new ServerSession(deps, server, { signal, room });
  try {
    await session.begin();
    return await work(session);
  } catch (thrown) {
    throw serverFailure(thrown, { name, signal });
  } finally {
    cancel();
    void ignore(session.end(), "a server ends sessions without requests by itself");
  }
}

export class ServerSession {
  readonly #deps: SessionDeps;
  readonly #server: ReachableServer;
  readonly #signal: AbortSignal;
  readonly #room: AnswerRoom | undefined;
  #sessionId: string | undefined;
  #version: string | undefined;
  #lastId = 0;

  constructor(deps: SessionDeps, server: ReachableServer, { signal, room }: Pick<SessionLimits, "signal" | "room">) {
    this.#deps = deps;
    this.#server = server;
    this.#signal = signal;
    this.#room = room;
  }

  async begin(): Promise<void> {
    const clientInfo = { name: "tributary", version: VERSION };
    const { result } = await this.ask("initialize", { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo });
    const version = result?.["protocolVersion"];
    if (typeof version !== "string" || !PROTOCOL_VERSIONS.includes(version)) {
      throw new AppError("UPSTREAM_UNAVAILABLE", `The MCP server ${this.#server.name} has no protocol version in common with the gateway.`);
    }
    this.#version = version;
    const accepted = await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" }, this.#signal);
    accepted.destroy();
  }

  /** The server's response, which may be an error. */
  async ask(method: string, params: object): Promise<RpcResponse> {
    const id = ++this.#lastId;
    const response = await this.#post({ jsonrpc: "2.0", id, method, params }, this.#signal);
    try {
      const given = response.headers["mcp-session-id"];
      if (method === "initialize" && typeof given === "string") this.#sessionId = given;
      return await readResponse(response, id, this.#room);
    } finally {
      response.destroy();
    }
  }

  async end(): Promise<void> {
    if (this.#sessionId === undefined) return;
    const late = new AbortController();
    const cancel = this.#deps.clock.after(END_MS, () => late.abort());
    try {
      (await this.#send({ method: "DELETE", body: "" }, late.signal)).destroy();
    } finally {
      cancel();
    }
  }

  async #post(message: object, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#send({ method: "POST", body: JSON.stringify(message) }, signal);
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return response;
    response.destroy();
    throw new AppError("UPSTREAM_UNAVAILABLE", `The MCP server ${this.#server.name} answers with the HTTP status ${statusCode}.`);
  }

  #send(sent: { method: "POST" | "DELETE"; body: string }, signal: AbortSignal): Promise<IncomingMessage> {
    const { url, headers: own } = this.#server;
    const headers = {
      ...own,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(this.#sessionId !== undefined && { "mcp-session-id": this.#sessionId }),
      ...(this.#version !== undefined && { "mcp-protocol-version": this.#version }),
    };
    return sendToServer(this.#deps.guard, { ...sent, url, headers }, signal);
  }
}
