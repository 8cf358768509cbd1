import {
  type ChannelCredentials,
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
} from "@grpc/grpc-js";
import { ignore } from "../ignore.ts";
import { CONTROL_TOKEN_KEY } from "../peers/control-token.ts";
import { type PeerTls, serverOf } from "../peers/tls.ts";
import { type Random, systemRandom } from "../random.ts";
import { followConnection, untilSent } from "./fail-over.ts";
import { fromGrpcError } from "./status.ts";

/** Options of every call. There is no default deadline, because a peer that accepts a call and never responds would block it forever. */
export interface CallOptions {
  deadlineMs: number;
  metadata?: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal | undefined;
  /** Receives the leading metadata of a successful call. */
  onHeader?: (header: Readonly<Record<string, string>>) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: grpc-js types its definitions with any; the inferred types below are exact.
type AnyDefinition = Readonly<Record<string, MethodDefinition<any, any>>>;

type Unary<D> = D extends {
  requestStream: false;
  responseStream: false;
  requestSerialize: (value: infer Request) => Buffer;
  responseDeserialize: (value: Buffer) => infer Response;
}
  ? (request: Request, options: CallOptions) => Promise<Response>
  : never;

/** A service's unary methods as promise functions, typed from the generated definition. */
export type ServiceClient<Definition> = {
  [Method in keyof Definition as Unary<Definition[Method]> extends never ? never : Method]: Unary<Definition[Method]>;
};

/** One channel to a control plane, shared by the clients of all services. */
export interface Channel {
  service<Definition extends AnyDefinition>(definition: Definition): ServiceClient<Definition>;
  /** Opens a server stream. It has a deadline too: re-open it, with jitter, when it ends. */
  stream<Request, Response>(
    method: {
      path: string;
      responseStream: true;
      requestSerialize: (value: Request) => Buffer;
      responseDeserialize: (value: Buffer) => Response;
    },
    request: Request,
    options: CallOptions,
  ): ClientReadableStream<Response>;
  /** Reads a server stream to its end with backpressure; its errors are AppErrors. */
  download<Request, Response>(
    method: {
      path: string;
      responseStream: true;
      requestSerialize: (value: Request) => Buffer;
      responseDeserialize: (value: Buffer) => Response;
    },
    request: Request,
    options: CallOptions,
  ): AsyncIterable<Response>;
  /** Sends a stream of messages with backpressure. If the source of the messages fails, the call is canceled with that error. */
  upload<Request, Response>(
    method: {
      path: string;
      requestStream: true;
      requestSerialize: (value: Request) => Buffer;
      responseDeserialize: (value: Buffer) => Response;
    },
    messages: AsyncIterable<Request>,
    options: CallOptions,
  ): Promise<Response>;
  /** Opens a new connection. Calls in flight on the old one continue to their end or deadline. */
  reconnect(): void;
  close(): void;
}

// A deadline of more than ~24.8 days overflows on the server and counts as passed.
const DEADLINE_MS_MAX = 3_600_000;
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Pings detect a peer that is gone. They must not treat a busy peer as dead; for that there are the deadlines of calls and, at an
 * edge, the heartbeat timeout of the watch, after which it reconnects.
 */
const KEEPALIVE = { "grpc.keepalive_time_ms": 20_000, "grpc.keepalive_timeout_ms": 10_000, "grpc.keepalive_permit_without_calls": 1 };

/** How a process proves itself to the control plane. */
export interface Proof {
  readonly token?: string | undefined;
  /** Replaces the token: the certificate says who this process is. */
  readonly tls?: PeerTls | undefined;
}

/**
 * Opens a channel to `host:port`, or to several control planes, separated by commas: it begins with any of them, so that they share the
 * processes that they serve, and moves to the next one when the connection fails, and with each reconnect.
 */
export function openChannel(addresses: string, { token, tls }: Proof = {}, random: Random = systemRandom): Channel {
  const security = tls === undefined ? credentials.createInsecure() : tlsCredentials(tls);
  const places = addresses.split(",");
  let place = places.length > 1 ? random.bytes(4).readUInt32BE() % places.length : -1;
  const connect = () => {
    place = (place + 1) % places.length;
    return new Client(places[place] ?? "", security, {
      ...KEEPALIVE,
      // A new client must not reuse the pooled connection, because that may be the broken one.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
      "grpc.max_send_message_length": MESSAGE_BYTES_MAX,
      "grpc.enable_http_proxy": 0,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 300,
      "grpc.min_reconnect_backoff_ms": 100,
    });
  };
  const sender: Sender = { client: connect(), token, hasOthers: places.length > 1 };
  const reconnect = () => {
    const old = sender.client;
    sender.client = connect();
    old.close();
    if (places.length > 1) followConnection(sender, reconnect);
  };
  if (places.length > 1) followConnection(sender, reconnect);
  const stream: Channel["stream"] = (method, request, options) =>
    sender.client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      toMetadata(sender, options),
      { deadline: deadlineOf(options) },
    );
  return {
    service: (definition) => clientOf(sender, definition),
    stream,
    download: (method, request, options) => readAll(stream(method, request, options)),
    upload: (method, messages, options) => callUpload(sender, method, messages, options),
    reconnect,
    close: () => {
      sender.isClosed = true;
      sender.client.close();
    },
  };
}

function tlsCredentials({ ca, key, cert }: PeerTls): ChannelCredentials {
  return credentials.createSsl(ca, key, cert, { checkServerIdentity: serverOf("control-plane") });
}

/** The current connection of a channel, and the token of its calls. */
interface Sender {
  client: Client;
  readonly token: string | undefined;
  /** There are control planes at other addresses. */
  readonly hasOthers: boolean;
  isClosed?: boolean;
}

function clientOf<Definition extends AnyDefinition>(sender: Sender, definition: Definition): ServiceClient<Definition> {
  const methods: Record<string, (request: unknown, options: CallOptions) => Promise<unknown>> = {};
  for (const [name, method] of Object.entries(definition)) {
    if (method.requestStream || method.responseStream) continue;
    methods[name] = (request, options) => callUnary(sender, method, request, options);
  }
  return methods as unknown as ServiceClient<Definition>;
}

function callUnary(
  sender: Sender,
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  method: MethodDefinition<any, any>,
  request: unknown,
  options: CallOptions,
): Promise<unknown> {
  if (!sender.hasOthers) return callOnce(sender, method, request, options);
  return untilSent((deadlineMs) => callOnce(sender, method, request, { ...options, deadlineMs }), options.deadlineMs);
}

function callOnce(
  sender: Sender,
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  method: MethodDefinition<any, any>,
  request: unknown,
  options: CallOptions,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const deadline = deadlineOf(options);
    const call = sender.client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      toMetadata(sender, options),
      { deadline },
      (error: ServiceError | null, response: unknown) => {
        options.signal?.removeEventListener("abort", cancel);
        if (error) reject(fromGrpcError(error));
        else resolve(response);
      },
    );
    const cancel = () => call.cancel();
    options.signal?.addEventListener("abort", cancel, { once: true });
    if (options.onHeader) {
      const { onHeader } = options;
      call.on("metadata", (header: Metadata) => onHeader(header.getMap() as Record<string, string>));
    }
  });
}

async function* readAll<Response>(stream: ClientReadableStream<Response>): AsyncGenerator<Response> {
  try {
    for await (const message of stream) yield message as Response;
  } catch (thrown) {
    throw fromGrpcError(thrown as ServiceError);
  } finally {
    // A consumer that stops reading does not need the rest of the stream.
    stream.cancel();
  }
}

async function callUpload<Request, Response>(
  sender: Sender,
  method: { path: string; requestSerialize: (value: Request) => Buffer; responseDeserialize: (value: Buffer) => Response },
  messages: AsyncIterable<Request>,
  options: CallOptions,
): Promise<Response> {
  const { promise: answer, resolve, reject } = Promise.withResolvers<Response>();
  const answered = new AbortController();
  const call = sender.client.makeClientStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    toMetadata(sender, options),
    { deadline: deadlineOf(options) },
    (error: ServiceError | null, response?: Response) => {
      answered.abort();
      if (error) reject(fromGrpcError(error));
      else resolve(response as Response);
    },
  );
  const cancel = () => call.cancel();
  options.signal?.addEventListener("abort", cancel, { once: true });
  void ignore(answer, "the caller awaits it below");
  try {
    for await (const message of messages) {
      // A response before the end of the stream is an error, so the rest is not sent.
      if (answered.signal.aborted) break;
      if (!call.write(message)) await drained(call, answered.signal);
    }
    call.end();
  } catch (thrown) {
    cancel();
    throw thrown;
  } finally {
    void ignore(
      answer.finally(() => options.signal?.removeEventListener("abort", cancel)),
      "the caller gets the failure",
    );
  }
  return answer;
}

function drained(call: { once(event: "drain", wake: () => void): unknown }, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    call.once("drain", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function deadlineOf(options: CallOptions): number {
  const { deadlineMs } = options;
  if (!Number.isFinite(deadlineMs) || deadlineMs <= 0 || deadlineMs > DEADLINE_MS_MAX) {
    throw new Error(`a gRPC call needs a deadline between 1 ms and 1 h, not ${deadlineMs}`);
  }
  return Date.now() + deadlineMs;
}

function toMetadata({ token }: Sender, options: CallOptions): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set(CONTROL_TOKEN_KEY, token);
  for (const [name, value] of Object.entries(options.metadata ?? {})) if (value !== undefined) metadata.set(name, value);
  return metadata;
}
