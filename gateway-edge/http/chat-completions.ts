import type { Request, RequestHandler, Response } from "express";
import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import type { Caller, StoredAnswer } from "../../proto/gen/tributary/access/v1/access.ts";
import type { InferenceCall, InferenceResult } from "../inference/run-inference.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import { gatewayErrorBody, gatewayErrorStatus } from "../middleware/gateway-error.ts";
import { idempotencyKey } from "../middleware/idempotency.ts";
import { parseJson, readBody, requireJsonType } from "../middleware/read-body.ts";
import { type ChatRequest, parseChatRequest } from "../schemas/chat.ts";
import { callHeaders } from "./call-headers.ts";
import { ChatFrames, chatCompletion, chatIdentity, DONE_FRAME, errorFrame } from "./chat-wire.ts";
import { beginIdempotentCall, type IdempotentCall, type IdempotentDeps } from "./idempotent-call.ts";
import { SseWriter } from "./sse-writer.ts";

export interface ChatDeps extends IdempotentDeps {
  readonly run: (call: InferenceCall) => Promise<InferenceResult>;
  readonly clock: Clock;
  readonly bodyBytesMax: number;
}

/** How one of the two APIs words its errors. */
export interface ErrorWording {
  status(error: AppError): number;
  body(error: AppError): unknown;
}

/** A call that is authenticated and understood, with the exchange it is answered in. */
export interface ChatExchange {
  readonly request: Request;
  readonly response: Response;
  readonly callId: string;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly chat: ChatRequest;
  readonly rawBody: Buffer;
  readonly pathModel: string | undefined;
  readonly errors: ErrorWording;
}

const GATEWAY_WORDING: ErrorWording = { status: gatewayErrorStatus, body: gatewayErrorBody };
const JSON_TYPE = "application/json; charset=utf-8";
const STREAM_TYPE = "text/event-stream; charset=utf-8";

/** POST chat/completions, in each of its spellings. */
export function chatCompletionsHandler(deps: ChatDeps): RequestHandler {
  return async (request, response) => {
    requireJsonType(request);
    const rawBody = await readBody(request, deps.bodyBytesMax);
    const pathModel = typeof request.params["model"] === "string" ? request.params["model"] : undefined;
    await answerChat(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/chat/completions",
      caller: callerOf(response),
      chat: parseChatRequest(parseJson(rawBody), pathModel),
      rawBody,
      pathModel,
      errors: GATEWAY_WORDING,
    });
  };
}

/** Makes the call and answers it, whole or streamed; under an Idempotency-Key at most once. */
export async function answerChat(deps: ChatDeps, exchange: ChatExchange): Promise<void> {
  const { request, response, callId, caller, rawBody, pathModel } = exchange;
  const idempotent = await beginIdempotentCall(deps, {
    key: idempotencyKey(request),
    keyId: caller.keyId,
    callId,
    body: rawBody,
    pathModel,
  });
  if (idempotent.answer) return replay(response, idempotent.answer);
  try {
    const result = await deps.run({
      callId,
      endpoint: exchange.endpoint,
      caller,
      request: exchange.chat,
      signal: clientLeft(response),
      errorStatus: exchange.errors.status,
    });
    if (result.type === "answer") await sendWhole(deps, { exchange, result, idempotent });
    else await sendStream(deps, { exchange, result, idempotent });
  } finally {
    await idempotent.close();
  }
}

async function sendWhole(
  deps: ChatDeps,
  {
    exchange,
    result,
    idempotent,
  }: { exchange: ChatExchange; result: Extract<InferenceResult, { type: "answer" }>; idempotent: IdempotentCall },
): Promise<void> {
  const { response, callId } = exchange;
  const headers = callHeaders(callId, result.head, result.bill);
  const body = chatCompletion(chatIdentity({ callId, nowMs: deps.clock.now(), model: result.head.model }), result);
  idempotent.record(body);
  await idempotent.keep(headers, JSON_TYPE);
  send(response, { headers, contentType: JSON_TYPE, body });
}

async function sendStream(
  deps: ChatDeps,
  {
    exchange,
    result,
    idempotent,
  }: { exchange: ChatExchange; result: Extract<InferenceResult, { type: "stream" }>; idempotent: IdempotentCall },
): Promise<void> {
  const { response, callId, chat, errors } = exchange;
  const withUsage = chat.stream_options?.include_usage === true;
  const frames = new ChatFrames(chatIdentity({ callId, nowMs: deps.clock.now(), model: result.head.model }), { withUsage });
  const headers = callHeaders(callId, result.head);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const writer = new SseWriter(response, deps.clock);
  writer.open();
  try {
    // Must be iterated whatever happens, for the call is settled at the end of it; to break off means that the client left.
    for await (const part of result.parts) {
      const last = part.type === "settled";
      const text = last ? (withUsage ? frames.usageFrame(part.bill) : "") + DONE_FRAME : frames.frames(part);
      idempotent.record(text);
      if (last) {
        await idempotent.keep(headers, STREAM_TYPE);
        writer.end(text);
      } else if (!(await writer.write(text))) {
        break;
      }
    }
  } catch (thrown) {
    // Content is out already: what went wrong is told in the stream, which still ends as a stream should.
    const error = asAppError(thrown);
    response.locals["error"] = error;
    writer.end(errorFrame(errors.body(error)) + DONE_FRAME);
  }
}

function replay(response: Response, answer: StoredAnswer): void {
  const headers = { ...answer.headers, "idempotent-replayed": "true" };
  send(response, { status: answer.status, headers, contentType: answer.contentType, body: Buffer.from(answer.body) });
}

function send(
  response: Response,
  answer: { status?: number; headers: Readonly<Record<string, string>>; contentType: string; body: string | Buffer },
): void {
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  response.statusCode = answer.status ?? 200;
  response.setHeader("content-type", answer.contentType);
  response.setHeader("content-length", Buffer.byteLength(answer.body));
  response.end(answer.body);
}

/** The request's own `close` may never come once its body was read; the response's always does. */
function clientLeft(response: Response): AbortSignal {
  const left = new AbortController();
  const check = () => {
    if (!response.writableFinished) left.abort(new AppError("UPSTREAM_UNAVAILABLE", "The client left."));
  };
  if (response.closed) check();
  else response.once("close", check);
  return left.signal;
}
