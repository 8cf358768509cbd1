import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "./clock.ts";

/** How long request bodies may take to arrive. */
export interface SlowBodyLimits {
  /** From the head of a request to the end of its body. */
  readonly totalMs: number;
  /** The same for a streamed body. */
  readonly streamMs: number;
  /** A streamed body may pause for this long, and is refused before it has paused for twice as long. */
  readonly idleMs: number;
}

interface SlowBodyOptions {
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly limits: SlowBodyLimits;
  /** Answers on a connection whose response has not begun, and closes it. */
  refuse(socket: Socket): void;
}

const bounds = new WeakMap<IncomingMessage, SlowBody>();

/**
 * Bounds the time that a request body takes to arrive, whether it is read or not. Node's `requestTimeout` has one limit for all bodies, which
 * fits no upload of a large file over a slow line.
 */
export function boundSlowBody(request: IncomingMessage, response: ServerResponse, options: SlowBodyOptions): void {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding === undefined && !(Number(length) > 0)) return;
  bounds.set(request, new SlowBody(request, response, options));
}

/** For a body that is read as a stream: from now on its sender may take long, but may not pause for long. */
export function allowSlowBody(request: IncomingMessage): void {
  bounds.get(request)?.allow();
}

class SlowBody {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: SlowBodyOptions;
  readonly #startedMs: number;
  #cancel: () => void;

  constructor(request: IncomingMessage, response: ServerResponse, options: SlowBodyOptions) {
    const { clock, limits } = options;
    this.#request = request;
    this.#response = response;
    this.#options = options;
    this.#startedMs = clock.monotonicMs();
    this.#cancel = clock.after(limits.totalMs, () => this.#refuse());
    // After the response, Node still waits for the rest of a small body that was not read: the limit stays.
    response.once("close", () => {
      if (this.#isOver) this.#cancel();
    });
  }

  allow(): void {
    this.#cancel();
    if (!this.#isOver) this.#watch();
  }

  get #isOver(): boolean {
    return this.#request.complete || this.#request.socket.destroyed;
  }

  #watch(): void {
    const { clock, limits } = this.#options;
    const { socket } = this.#request;
    const { bytesRead } = socket;
    this.#cancel = clock.after(limits.idleMs, () => {
      if (this.#isOver) return;
      // Bytes that wait for their reader stop the sender: the reader, which has limits of its own, is slow.
      const isIdle = socket.bytesRead === bytesRead && this.#request.readableLength === 0;
      if (isIdle || clock.monotonicMs() - this.#startedMs >= limits.streamMs) this.#refuse();
      else this.#watch();
    });
  }

  #refuse(): void {
    if (this.#isOver) return;
    const { socket } = this.#request;
    // The response has begun or ended, or the response to an earlier request is sent: another status would be read as a part of it.
    if (this.#response.headersSent || this.#response.socket === null) socket.destroy();
    else this.#options.refuse(socket);
  }
}
