import type { IncomingMessage } from "node:http";
import { isPlaceRefused } from "../../../common/checked-lookup.ts";
import { AppError } from "../../../common/errors.ts";
import { type Guard, guardedRequest } from "../../../common/outbound.ts";
import { readSse } from "../../upstream/providers/shared/sse-reader.ts";
import { parseJson } from "../read-body.ts";
import { type RpcId, type RpcResponse, rpcResponse } from "./json-rpc.ts";

export interface ServerRequest {
  readonly method: "POST" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Sends one request to an MCP server, on a connection of its own. Redirects are not followed. */
export function sendToServer(guard: Guard, { method, url, headers, body }: ServerRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = { ...headers, "content-length": Buffer.byteLength(body) };
    const outgoing = guardedRequest(new URL(url), { method, headers: sent, signal }, guard);
    outgoing.on("response", resolve).on("error", reject);
    outgoing.end(body);
  });
}

/** What answers may have together, beside the limit of each. Throws when there is no more. */
export interface AnswerRoom {
  takeBytes(count: number): void;
}

/** The response to the request with this id, from a JSON body or a stream of events. */
export async function readResponse(from: IncomingMessage, id: RpcId, room: AnswerRoom | undefined): Promise<RpcResponse> {
  const isStream = /^text\/event-stream/i.test(from.headers["content-type"] ?? "");
  const chunks = bounded(from, room);
  const texts = isStream ? eventTexts(chunks) : wholeText(chunks);
  for await (const text of texts) {
    const message = rpcResponse.safeParse(parseJson(text));
    // Requests and notifications of the server have no place to go: the gateway offers it nothing to ask for.
    if (message.success && message.data.id === id && (message.data.result ?? message.data.error)) return message.data;
  }
  throw unusable("has no answer to the request");
}

async function* eventTexts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const { data } of readSse(chunks, ANSWER_BYTES_MAX)) yield Buffer.from(data);
}

async function* wholeText(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield Buffer.concat(await Array.fromAsync(chunks));
}

async function* bounded(from: IncomingMessage, room: AnswerRoom | undefined): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw unusable(`is larger than ${ANSWER_BYTES_MAX} bytes`);
    room?.takeBytes(chunk.length);
    yield chunk;
  }
}

function unusable(what: string): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", `The MCP server's answer ${what}.`);
}

/** Any failure of a request to a server, as the caller may see it. */
export function serverFailure(thrown: unknown, { name, signal }: { name: string; signal: AbortSignal }): AppError {
  if (signal.aborted && signal.reason instanceof AppError) return signal.reason;
  if (isPlaceRefused(thrown)) {
    const message = `The address of the MCP server ${name} is private; the operator can allow such addresses with ALLOW_PRIVATE_MCP=true.`;
    return new AppError("UPSTREAM_UNAVAILABLE", message, { cause: thrown });
  }
  if (thrown instanceof AppError && thrown.code !== "INVALID_JSON") return thrown;
  return new AppError("UPSTREAM_UNAVAILABLE", `The MCP server ${name} cannot be reached or does not answer with JSON.`, {
    internal: String(thrown),
    cause: thrown,
  });
}
