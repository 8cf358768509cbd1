import type { Clock } from "../../../../common/clock.ts";
import { type AppError, asAppError } from "../../../../common/errors.ts";
import type { ReadyIterator } from "../../../../common/ready-iterator.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { DONE_FRAME, errorFrame } from "../../../calls/formats/chat-frames.ts";
import type { ResponseFormat, StreamFormat } from "../../../calls/formats/response-format.ts";
import { gatewayErrorBody, gatewayErrorStatus } from "../../../calls/gateway-error.ts";
import type { CallRequest, CallResponse } from "../../../calls/http-exchange.ts";
import type { DeliveredPart } from "../../../calls/inference/delivery.ts";
import type { InferenceCall, InferenceResult } from "../../../calls/inference/inference-call.ts";
import type { Job } from "../../../calls/inference/job.ts";
import type { CallRouting } from "../../../calls/inference/route-request.ts";
import type { OpenCall, OpenCalls } from "../../../calls/open-calls.ts";
import { traceTagsOf } from "../../../calls/tracing/trace-tag.ts";
import type { BytesPart } from "../../../upstream/providers/provider.ts";
import { idempotencyKey } from "../../middleware/idempotency.ts";
import { requestIdOf } from "../../middleware/request-id.ts";
import { callHeaders } from "./call-headers.ts";
import { endWithClient } from "./client-left.ts";
import { beginIdempotentCall, type IdempotentCall, type IdempotentDeps } from "./idempotent-call.ts";
import { replay, send } from "./replay-answer.ts";
import { sendBytes } from "./send-bytes.ts";
import { SseWriter } from "./sse-writer.ts";

/** The dependencies of a route that makes calls. */
export interface CallDeps extends IdempotentDeps {
  run<Answer>(call: InferenceCall<Answer>): Promise<InferenceResult<Answer>>;
  readonly clock: Clock;
  readonly bodyBytesMax: number;
  /** How long a client may read nothing of its stream. */
  readonly stallMs: number;
  readonly openCalls: OpenCalls;
  /** Whether any deployment takes parameters of its provider from clients. */
  takesClientParams(): boolean;
}

/** The error format of one API. */
export interface ErrorFormat {
  status(error: AppError): number;
  body(error: AppError): unknown;
}

export const GATEWAY_ERRORS: ErrorFormat = { status: gatewayErrorStatus, body: gatewayErrorBody };

/** An authenticated and parsed call, with its HTTP request and response. */
export interface CallExchange<Answer> {
  readonly request: CallRequest;
  readonly response: CallResponse;
  readonly callId: string;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly job: Job<Answer>;
  readonly routing: CallRouting;
  readonly rawBody: Buffer;
  readonly pathModel: string | undefined;
  readonly errors: ErrorFormat;
  readonly format: ResponseFormat<Answer>;
}

export const JSON_TYPE = "application/json; charset=utf-8";
const SILENCE_MS_MAX = 15_000;
const STREAM_TYPE = "text/event-stream; charset=utf-8";

/** Makes the call and sends its answer, whole or streamed; at most once under an Idempotency-Key. */
export function answerCall<Answer>(deps: CallDeps, exchange: CallExchange<Answer>): void | Promise<void> {
  const { request, callId, caller, endpoint, rawBody, pathModel } = exchange;
  const key = idempotencyKey(request);
  const begun = beginIdempotentCall(deps, { key, owner: caller, callId, endpoint, body: rawBody, pathModel });
  return begun instanceof Promise ? begun.then((idempotent) => answerOnce(deps, exchange, idempotent)) : answerOnce(deps, exchange, begun);
}

function answerOnce<Answer>(deps: CallDeps, exchange: CallExchange<Answer>, idempotent: IdempotentCall): void | Promise<void> {
  const { request, response, callId, caller, endpoint, routing, errors, format } = exchange;
  if (idempotent.answer) return replay(deps, { response, answer: idempotent.answer, teamId: caller.teamId });
  const job = withTrace(exchange.job, request);
  const newWriter = () => new SseWriter(response, deps.clock, { keepAlive: format.keepAlive, stallMs: deps.stallMs });
  // Only a requested stream needs a writer now. If only the upstream's response turns out to be a stream, the writer is made later.
  const early = job.stream ? newWriter() : undefined;
  const call = deps.openCalls.open();
  endWithClient(response, call, idempotent);
  const [requestId, signal] = [requestIdOf(response), call.signal];
  const running = begin(deps, { callId, requestId, endpoint, caller, job, routing, signal, errorStatus: errors.status, client: early });
  return (early ? openInTime(deps, early, running) : running)
    .then((result) => sendResult(deps, { exchange, result, idempotent, newWriter: () => early ?? newWriter() }))
    .then(
      () => endCall(call, { response, idempotent }),
      (thrown: unknown) => endFailed(deps, { exchange, writer: early, thrown, call, idempotent }),
    );
}

/** A call that went on without its client is over now; others are with their response. */
function endCall(call: OpenCall, { response, idempotent }: { response: CallResponse; idempotent: IdempotentCall }): void | Promise<void> {
  const close = () => {
    if (response.closed) call.close();
  };
  const ended = idempotent.close();
  // A stopping edge waits for the call until its key is free or has the answer.
  return ended ? ended.then(close) : close();
}

/** Every error of a call is a rejection. */
function begin<Answer>(deps: CallDeps, call: InferenceCall<Answer>): Promise<InferenceResult<Answer>> {
  try {
    return deps.run(call);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** An error before the status is sent is thrown, and gets a status of its own. */
async function endFailed<Answer>(
  deps: CallDeps,
  {
    writer,
    call,
    idempotent,
    ...failing
  }: Omit<Failing<Answer>, "writer" | "format"> & { writer: SseWriter | undefined; call: OpenCall; idempotent: IdempotentCall },
): Promise<void> {
  try {
    if (!writer?.isOpen) throw failing.thrown;
    await endWithError(deps, { ...failing, writer, format: undefined });
  } finally {
    await endCall(call, { response: failing.exchange.response, idempotent });
  }
}

/** The trace that the client names is a tag of the row. */
function withTrace<Answer>(job: Job<Answer>, request: CallRequest): Job<Answer> {
  const tags = traceTagsOf(request);
  return tags.length === 0 ? job : { ...job, logTags: [...(job.logTags ?? []), ...tags] };
}

/** The status line waits for the first token, which may take long, but not so long that a proxy in between gives up. */
function openInTime<Result>({ clock }: CallDeps, writer: SseWriter, result: Promise<Result>): Promise<Result> {
  return result.finally(clock.after(SILENCE_MS_MAX, () => writer.open()));
}

interface Sending<Answer, Type extends "answer" | "stream"> {
  exchange: CallExchange<Answer>;
  result: Extract<InferenceResult<Answer>, { type: Type }>;
  idempotent: IdempotentCall;
}

function sendResult<Answer>(
  deps: CallDeps,
  { newWriter, ...sending }: Sending<Answer, InferenceResult<Answer>["type"]> & { newWriter(): SseWriter },
): void | Promise<void> {
  const { exchange, result, idempotent } = sending;
  if (result.type === "answer") return sendWhole(deps, { exchange, result, idempotent });
  const streaming = { exchange, result, idempotent, writer: newWriter() };
  return exchange.job.passesBytes ? sendBytes(streaming) : sendStream(deps, streaming);
}

/** Most answers are sent at once. */
function sendWhole<Answer>(deps: CallDeps, { exchange, result, idempotent }: Sending<Answer, "answer">): void | Promise<void> {
  const { response, callId, format } = exchange;
  const headers = callHeaders(callId, result.head, result.bill);
  const serialized = format.whole(result.answer, { callId, nowMs: deps.clock.now(), model: result.head.model, bill: result.bill });
  const contentType = format.wholeType?.(result.answer) ?? JSON_TYPE;
  const sendBody = (body: string): void | Promise<void> => {
    idempotent.record(body);
    const storing = idempotent.store(headers, contentType);
    const answer = { headers, contentType, body };
    return storing ? storing.then(() => send(response, answer)) : send(response, answer);
  };
  return typeof serialized === "string" ? sendBody(serialized) : serialized.then(sendBody);
}

async function sendStream<Answer>(deps: CallDeps, sending: Sending<Answer, "stream"> & { writer: SseWriter }): Promise<void> {
  const { exchange, result, idempotent, writer } = sending;
  const { callId } = exchange;
  const format = exchange.format.stream?.({ callId, nowMs: deps.clock.now(), model: result.head.model });
  const headers = callHeaders(callId, result.head);
  if (!writer.isOpen) writer.open({ headers });
  const parts: ReadyIterator<DeliveredPart | BytesPart> = result.parts[Symbol.asyncIterator]();
  const recorded = (part: DeliveredPart | BytesPart) => {
    const frames = framesOf(part, format);
    idempotent.record(frames);
    return frames;
  };
  const write = (part: DeliveredPart | BytesPart) => takenOrKept(writer.write(recorded(part)), idempotent);
  const gather = (part: DeliveredPart | BytesPart) => takenOrKept(writer.gather(recorded(part)), idempotent);
  const reads = { parts, gather, flush: () => writer.flush() };
  try {
    for (let next = await parts.next(); !next.done; next = await parts.next()) {
      if (next.value.type === "settled") {
        const frames = ((await format?.last(next.value.bill)) ?? "") + (format?.end ?? DONE_FRAME);
        idempotent.record(frames);
        await idempotent.store(headers, STREAM_TYPE);
        writer.end(frames);
        continue;
      }
      const taken = writeArrived(parts, write, write(next.value));
      // The client disconnected.
      if (taken !== true && !(await taken)) break;
      const followed = writeReads(reads);
      if (followed !== true && !(await followed)) break;
    }
    // Its end settles the call; after a whole stream it does nothing.
    await parts.return?.();
  } catch (thrown) {
    await parts.return?.();
    await endWithError(deps, { exchange, writer, thrown, format });
  }
}

type Taken = boolean | Promise<boolean>;

/** What a client does not take who left is kept under its Idempotency-Key, if it has one. */
function takenOrKept(taken: Taken, idempotent: IdempotentCall): Taken {
  if (taken === true) return true;
  return taken === false ? idempotent.goesOn : taken.then((isTaken) => isTaken || idempotent.goesOn);
}

/** Writes the parts that are here, which then go out together. False if the client has disconnected. */
function writeArrived<Part>(parts: ReadyIterator<Part>, write: (part: Part) => Taken, before: Taken = true): Taken {
  let taken = before;
  while (taken === true) {
    const more = parts.ready?.();
    if (more === undefined) break;
    taken = write(more);
  }
  return taken;
}

interface Reads<Part> {
  readonly parts: ReadyIterator<Part>;
  gather(part: Part): Taken;
  flush(): void;
}

/** Writes what arrives, a read of the upstream at a time, until `next` has to be called. False if the client has disconnected. */
function writeReads<Part>({ parts, gather, flush }: Reads<Part>): Taken {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const step = () => {
    try {
      const taken = writeArrived(parts, gather);
      flush();
      if (taken !== true || !parts.wake?.(step)) resolve(taken);
    } catch (error) {
      reject(error);
    }
  };
  return parts.wake?.(step) === true ? promise : true;
}

function framesOf(part: DeliveredPart | BytesPart, format: StreamFormat | undefined): string | Uint8Array {
  if (part.type === "bytes") return part.bytes;
  if (!format || part.type === "settled") throw new Error("a stream without a stream format");
  return format.frames(part);
}

interface Failing<Answer> {
  exchange: CallExchange<Answer>;
  writer: SseWriter;
  thrown: unknown;
  /** Undefined if only the status was sent. */
  format: StreamFormat | undefined;
}

/** The status is sent already, so the error becomes an event of the stream, which then ends properly. */
async function endWithError<Answer>(deps: CallDeps, { exchange, writer, thrown, format }: Failing<Answer>): Promise<void> {
  const { response, errors, callId, job } = exchange;
  const error = asAppError(thrown);
  response.locals["error"] = error;
  const stream = format ?? exchange.format.stream?.({ callId, nowMs: deps.clock.now(), model: job.model });
  writer.end((await stream?.failed?.(error)) ?? errorFrame(errors.body(error)) + DONE_FRAME);
}
