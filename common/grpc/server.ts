import {
  Metadata,
  type MethodDefinition,
  Server,
  type ServerCredentials,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { type AppError, asAppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { prepareServerSessions } from "./server-sessions.ts";
import { toGrpcStatus, toRefusal } from "./status.ts";

/** A call as its admission sees it. */
export type IncomingCall = Pick<ServerUnaryCall<unknown, unknown>, "metadata" | "getAuthContext">;

/** Decides before the handler runs whether a process may make a call: nothing, or why not. `request` is absent for streams of messages. */
export type Admit = (path: string, call: IncomingCall, request: unknown) => AppError | Promise<AppError> | undefined;

/** A unary call that its handler did not answer, for another process to answer it. */
export interface UnansweredCall {
  // biome-ignore lint/suspicious/noExplicitAny: grpc-js types its definitions with any.
  readonly method: MethodDefinition<any, any>;
  readonly request: unknown;
  readonly context: CallContext;
  /** The certificate of the process that made the call. */
  readonly authContext: ReturnType<IncomingCall["getAuthContext"]>;
  /** How long the caller waits; infinite if it did not say. */
  readonly remainingMs: number;
  /** Runs the handler here, with this request or with a part of it. */
  here(request: unknown): Promise<unknown>;
}

/** Answers a call whose handler threw, in another process; undefined: the error is the answer. */
export type Elsewhere = (thrown: unknown, call: UnansweredCall) => Promise<unknown> | undefined;

/** What a service is added with. */
export interface ServiceOptions {
  readonly logger: Logger;
  readonly admit?: Admit;
  readonly elsewhere?: Elsewhere | undefined;
}

/** Context of a call besides its message. */
export interface CallContext {
  /** Request metadata, by lower-case name. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Aborted when the caller disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /** Metadata sent to the caller before the response. */
  setHeader(name: string, value: string): void;
}

// biome-ignore lint/suspicious/noExplicitAny: grpc-js types its definitions with any; the inferred types below are exact.
type AnyDefinition = Readonly<Record<string, MethodDefinition<any, any>>>;

type UnaryHandler<D> = D extends {
  requestStream: false;
  responseStream: false;
  requestDeserialize: (value: Buffer) => infer Request;
  responseSerialize: (value: infer Response) => Buffer;
}
  ? (request: Request, context: CallContext) => Promise<Response>
  : D extends {
        requestStream: true;
        responseStream: false;
        requestDeserialize: (value: Buffer) => infer Request;
        responseSerialize: (value: infer Response) => Buffer;
      }
    ? (messages: AsyncIterable<Request>, context: CallContext) => Promise<Response>
    : D extends {
          responseStream: true;
          requestDeserialize: (value: Buffer) => infer Request;
          responseSerialize: (value: infer Response) => Buffer;
        }
      ? (request: Request, stream: ServerStream<Response>) => void
      : never;

export interface ServerStream<Response> {
  /** Request metadata, by lower-case name. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** False if the reader is slower than the writer; then wait for `drained`. */
  write(message: Response): boolean;
  drained(): Promise<void>;
  end(): void;
  /** Ends the stream with an error, which the reader receives with its code. */
  fail(thrown: unknown): void;
}

/** Handlers of a service, typed from the generated definition: plain functions that return or throw. */
export type ServiceHandlers<Definition> = { [Method in keyof Definition]: UnaryHandler<Definition[Method]> };

const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

export function createGrpcServer(): Server {
  prepareServerSessions();
  return new Server({
    "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
    "grpc.max_send_message_length": MESSAGE_BYTES_MAX,
    // The same timeouts as the clients have: a process that is busy for a few seconds keeps its connections.
    "grpc.keepalive_time_ms": 20_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.max_concurrent_streams": 2000,
  });
}

export function addService<Definition extends AnyDefinition>(
  server: Server,
  definition: Definition,
  handlers: ServiceHandlers<Definition>,
  { logger, admit = () => undefined, elsewhere }: ServiceOptions,
): void {
  const implementation: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(definition)) {
    const handler = (handlers as Record<string, unknown>)[name];
    implementation[name] = method.responseStream
      ? streamImplementation(method, handler as (request: unknown, stream: ServerStream<unknown>) => void, admit)
      : singleImplementation(method, handler as (request: unknown, context: CallContext) => Promise<unknown>, {
          logger,
          admit,
          elsewhere,
        });
  }
  server.addService(definition, implementation);
}

/** Where services of libraries add themselves, so that they are admitted like ours. */
export function guarded(server: Server, admit: Admit): Server {
  const addService = (definition: ServiceDefinition, implementation: UntypedServiceImplementation): void => {
    const admitted = Object.entries(definition).flatMap(([name, { path, originalName }]) => {
      const handler = (implementation[name] ?? implementation[originalName ?? name]) as RawHandler | undefined;
      return handler === undefined ? [] : [[name, admittedHandler(path, handler.bind(implementation), admit)]];
    });
    server.addService(definition, Object.fromEntries(admitted) as UntypedServiceImplementation);
  };
  return { addService } as unknown as Server;
}

type RawCall = IncomingCall & { emit(event: "error", status: unknown): unknown };
type RawHandler = (call: RawCall, callback?: sendUnaryData<unknown>) => void;

function admittedHandler(path: string, handler: RawHandler, admit: Admit): RawHandler {
  return (call, callback) => {
    const refusal = admit(path, call, undefined);
    if (refusal === undefined) return handler(call, callback);
    void Promise.resolve(refusal).then((error) => (callback ? callback(toRefusal(error)) : call.emit("error", toRefusal(error))));
  };
}

export function listen(server: Server, address: string, security: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, security, (error, port) => (error ? reject(error) : resolve(port)));
  });
}

/** Sends GOAWAY to all clients, waits at most `graceMs` for running calls, then closes the connections. */
export async function shutDown(server: Server, graceMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** One response to one message or to a stream of messages, which the handler reads with backpressure. */
function singleImplementation(
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  method: MethodDefinition<any, any>,
  handler: (request: unknown, context: CallContext) => Promise<unknown>,
  { logger, admit, elsewhere }: { logger: Logger; admit: Admit; elsewhere: Elsewhere | undefined },
) {
  const { path, requestStream } = method;
  type Call = ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>;
  return async (call: Call, callback: sendUnaryData<unknown>): Promise<void> => {
    const request = requestStream ? undefined : (call as ServerUnaryCall<unknown, unknown>).request;
    const refusal = admit(path, call, request);
    if (refusal !== undefined) return callback(toRefusal(await refusal));
    const abort = new AbortController();
    call.on("cancelled", () => abort.abort(new Error("the caller left")));
    const header = new Metadata();
    const context: CallContext = {
      metadata: call.metadata.getMap() as Record<string, string>,
      signal: abort.signal,
      setHeader: (name, value) => header.set(name, value),
    };
    const here = (message: unknown) => handler(message, context);
    const answer = async () => {
      try {
        return await here(requestStream ? call : request);
      } catch (thrown) {
        const remainingMs = Number(call.getDeadline()) - Date.now();
        const unanswered = { method, request, context, authContext: call.getAuthContext(), remainingMs, here };
        const answered = requestStream ? undefined : elsewhere?.(thrown, unanswered);
        if (answered === undefined) throw thrown;
        return await answered;
      }
    };
    try {
      const response = await answer();
      call.sendMetadata(header);
      callback(null, response);
    } catch (thrown) {
      const error = asAppError(thrown);
      const fields = { path, code: error.code, internal: error.internal, requestId: context.metadata["x-request-id"] };
      if (error.code === "SERVER_ERROR" || error.code === "DB_TIMEOUT") logger.error(fields, error.message);
      else logger.debug(fields, error.message);
      callback(toGrpcStatus(error));
    }
  };
}

function streamImplementation(
  { path }: { path: string },
  handler: (request: unknown, stream: ServerStream<unknown>) => void,
  admit: Admit,
) {
  return (call: ServerWritableStream<unknown, unknown>): void => {
    const refusal = admit(path, call, call.request);
    if (refusal !== undefined) return void Promise.resolve(refusal).then((error) => call.emit("error", toRefusal(error)));
    const abort = new AbortController();
    call.on("cancelled", () => abort.abort());
    call.on("error", () => abort.abort());
    handler(call.request, {
      metadata: call.metadata.getMap() as Record<string, string>,
      signal: abort.signal,
      write: (message) => call.write(message),
      drained: () =>
        new Promise((resolve) => {
          call.once("drain", resolve);
          abort.signal.addEventListener("abort", () => resolve(), { once: true });
        }),
      end: () => call.end(),
      fail: (thrown) => call.emit("error", toGrpcStatus(asAppError(thrown))),
    });
  };
}
