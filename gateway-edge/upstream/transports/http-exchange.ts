import type { Readable } from "node:stream";
import type { CancelSignal } from "../../../common/cancel.ts";
import type { Deadline, Deadlines } from "../../../common/deadlines.ts";
import type { ReadyIterator } from "../../../common/ready-iterator.ts";
import type { CallIds, ConnectionWait, UpstreamResponse } from "../providers/provider.ts";
import { connectionLimitReached } from "./connection-wait.ts";
import type { CallControl, CallHandler } from "./http1/connection.ts";

type Next = IteratorResult<Uint8Array, undefined>;

/** Bytes that wait for a reader, above which the socket is paused: until the reader begins, so that a short answer arrives without a pause. */
const UNREAD_BYTES_MAX = 64 * 1024;
/**
 * The same afterwards. One read of a socket has up to 64 KiB, so that twice 72 KiB are held for a client that does not read: those that
 * wait, and those that were taken last. With what its own socket holds (sse-writer.ts), it costs less than 256 KiB.
 */
const WAITING_BYTES_MAX = 8 * 1024;
/**
 * How long the rest of a body may take after the reader stopped: the end of a stream after its last event. Waiting for it saves the
 * connection.
 */
const REST_MS_MAX = 200;
const REST_BYTES_MAX = 16 * 1024;

const DONE: Promise<Next> = Promise.resolve({ done: true, value: undefined });
const HERE = Promise.resolve();

const unset = () => {};
/** One shared object: a stack trace for each would cost more than everything else. */
const UNWANTED = Object.assign(new Error("the reader of the response stopped"), { name: "AbortError" });

interface ExchangeOptions {
  readonly deadlines: Deadlines<HttpExchange>;
  readonly wait: ConnectionWait | undefined;
}

/**
 * One call, from its start to its last byte, and its body as it is pulled. It is not a Node stream, which costs more than everything else
 * the gateway does with an answer. It runs on the connection pool, or on undici, whose handler it is too.
 */
export class HttpExchange implements CallHandler, AsyncIterableIterator<Uint8Array, undefined>, ReadyIterator<Uint8Array> {
  readonly #client: CancelSignal;
  readonly #deadlines: Deadlines<HttpExchange>;
  readonly #wait: ConnectionWait | undefined;
  /** The body of the request, where a stream of Node carries it: it is destroyed when the call fails. */
  upload: Readable | undefined;
  #deadline: Deadline;
  #isQueued = false;
  #restTimer: NodeJS.Timeout | undefined;
  /** Rejects with the network error, or the reason of the abort. */
  readonly response: Promise<UpstreamResponse>;
  #respond: (response: UpstreamResponse) => void = unset;
  #refuse: (error: unknown) => void = unset;
  /** Set while the call runs: afterwards the connection belongs to another call. */
  #control: CallControl | undefined;
  #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #waitingBytesMax = UNREAD_BYTES_MAX;
  /** The size of the piece that the reader works on. */
  #takenBytes = 0;
  #reader: { resolve(next: Next): void; reject(error: unknown): void } | undefined;
  /** What a reader that waits without a promise is called by. */
  #onArrival: (() => void) | undefined;
  #state: "open" | "unwanted" | "ended" | "failed" = "open";
  #error: unknown;
  readonly #onClientAbort = () => this.#abort(this.#client.reason);

  constructor(client: CancelSignal, { deadlines, wait }: ExchangeOptions) {
    this.#client = client;
    this.#wait = wait;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.add(this);
    // Not by withResolvers, which V8 does not inline: one is made for every call.
    this.response = new Promise((resolve, reject) => {
      this.#respond = resolve;
      this.#refuse = reject;
    });
    client.addEventListener("abort", this.#onClientAbort, { once: true });
  }

  /** The ids that the request is sent with. */
  get callIds(): CallIds | undefined {
    return this.#wait;
  }

  /** The whole body in one piece if it has arrived, as a short answer does with its head. */
  arrived(): Uint8Array | undefined {
    return this.#state === "ended" ? this.#take() : undefined;
  }

  /** Bytes of the answer in memory: those that wait for the reader, and the piece that it works on. */
  get heldBytes(): number {
    return this.#waitingBytes + this.#takenBytes;
  }

  tookTooLong(totalMs: number): void {
    this.#abort(this.#isQueued ? connectionLimitReached() : new CallTooLong(totalMs));
  }

  onQueued(): void {
    if (this.#state !== "open" || this.#isQueued) return;
    this.#isQueued = true;
    this.#wait?.queued();
  }

  onRequestStart(control: CallControl): void {
    if (this.#isQueued && this.#state === "open") this.#dequeued();
    // The call failed while it waited for a connection.
    if (this.#state === "failed") control.abort(this.#error);
    else this.#control = control;
  }

  onResponseStart(_control: CallControl, status: number, headers: Record<string, string | string[] | undefined>): void {
    // Informational responses such as early hints: the answer follows.
    if (status < 200) return;
    this.#respond({ status, headers: flatten(headers), body: this });
  }

  onResponseData(control: CallControl, chunk: Uint8Array): void {
    const reader = this.#reader;
    if (reader) {
      this.#reader = undefined;
      this.#takenBytes = chunk.length;
      reader.resolve({ done: false, value: chunk });
      return;
    }
    this.#waitingBytes += chunk.length;
    if (this.#state === "unwanted") {
      if (this.#waitingBytes > REST_BYTES_MAX) this.#abort(UNWANTED);
      return;
    }
    this.#chunks.push(chunk);
    if (this.#onArrival) this.#wakeReader();
    else if (this.#waitingBytes > this.#waitingBytesMax) control.pause();
  }

  onResponseEnd(): void {
    this.#end("ended");
    this.#reader?.resolve({ done: true, value: undefined });
    this.#wakeReader();
  }

  onResponseError(_control: CallControl | null, error: Error): void {
    this.#fail(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    this.#waitingBytesMax = WAITING_BYTES_MAX;
    if (this.#chunks.length > 0) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#state === "failed") return Promise.reject(this.#error);
    if (this.#state !== "open") return DONE;
    this.#takenBytes = 0;
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  ready(): Uint8Array | undefined {
    return this.#chunks.length > 0 ? this.#take() : undefined;
  }

  wake(onArrival: () => void): boolean {
    if (this.#chunks.length > 0 || this.#state !== "open") return false;
    this.#waitingBytesMax = WAITING_BYTES_MAX;
    this.#takenBytes = 0;
    this.#onArrival = onArrival;
    return true;
  }

  /** When all of this read is here: its end may follow, and frees the connection. */
  #wakeReader(): void {
    const onArrival = this.#onArrival;
    if (!onArrival) return;
    this.#onArrival = undefined;
    void HERE.then(() => {
      onArrival();
      if (this.#waitingBytes > this.#waitingBytesMax) this.#control?.pause();
    });
  }

  /** The reader stopped. An abort ends the call at once; without one the connection has a moment to finish and be reused. */
  return(): Promise<Next> {
    if (this.#state !== "open") return DONE;
    this.#state = "unwanted";
    this.#take();
    this.#deadlines.delete(this.#deadline);
    this.#restTimer = setTimeout(() => this.#abort(UNWANTED), REST_MS_MAX).unref();
    return DONE;
  }

  /** All waiting bytes in one piece: a slow reader catches up in one step. */
  #take(): Uint8Array {
    const [first, ...others] = this.#chunks;
    const taken = first && others.length === 0 ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#takenBytes = this.#waitingBytes;
    this.#waitingBytes = 0;
    if (this.#control?.paused) this.#control.resume();
    return taken;
  }

  /** The upstream gets its full time after the wait. */
  #dequeued(): void {
    this.#isQueued = false;
    this.#deadlines.delete(this.#deadline);
    this.#deadline = this.#deadlines.add(this);
    this.#wait?.started();
  }

  #abort(reason: unknown): void {
    if (this.#state === "ended" || this.#state === "failed") return;
    const control = this.#control;
    this.#fail(reason);
    control?.abort(reason);
  }

  #fail(error: unknown): void {
    if (this.#state === "ended" || this.#state === "failed") return;
    this.#end("failed");
    this.#error = error;
    // The waiting bytes are discarded too.
    this.#chunks = [];
    this.upload?.on("error", () => {}).destroy();
    this.#refuse(error);
    this.#reader?.reject(error);
    this.#wakeReader();
  }

  /** Releases the client's signal, the connection and the timers. */
  #end(state: "ended" | "failed"): void {
    this.#state = state;
    this.#control = undefined;
    this.#deadlines.delete(this.#deadline);
    if (this.#restTimer) clearTimeout(this.#restTimer);
    this.#client.removeEventListener("abort", this.#onClientAbort);
  }
}

class CallTooLong extends Error {
  readonly code = "ETIMEDOUT";

  constructor(totalMs: number) {
    super(`the call took longer than ${totalMs} ms`);
  }
}

function flatten(headers: Record<string, string | string[] | undefined>): UpstreamResponse["headers"] {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}
