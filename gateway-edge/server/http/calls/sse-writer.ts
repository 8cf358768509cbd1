import type { Clock } from "../../../../common/clock.ts";
import { type Linked, LinkedList } from "../../../../common/linked-list.ts";
import type { HeaderList } from "../../../calls/header-list.ts";
import type { StreamedResponse } from "../../../calls/http-exchange.ts";
import { StreamedBody } from "./streamed-body.ts";

const EVENT_STREAM = "text/event-stream; charset=utf-8";
const KEEP_ALIVE_MS = 15_000;
/** Frames are gathered up to this size: only written bytes show whether the client keeps up. */
const GATHERED_CHARACTERS_MAX = 16 * 1024;
/** A comment, because any other frame without data breaks some clients of OpenAI's API. */
const COMMENT = ": keep-alive\n\n";

export interface SseOptions {
  /** Empty: none, for bytes that are no whole frames. */
  readonly keepAlive?: string | undefined;
  /** How long a client may read nothing before its connection is closed. */
  readonly stallMs: number;
}

const writers = new LinkedList<SseWriter>();

/** Bytes of each open stream that wait for its client to read. */
export function queuedBytes(): number[] {
  return Array.from(writers, (writer) => writer.queuedBytes);
}

/** Writes server-sent events to a client. Waits for slow clients, and closes the connection of clients that do not read. */
export class SseWriter implements Linked<SseWriter> {
  before: SseWriter | undefined;
  after: SseWriter | undefined;
  readonly #response: StreamedResponse;
  readonly #body: StreamedBody;
  readonly #clock: Clock;
  readonly #keepAlive: string;
  readonly #stallMs: number;
  /** The bytes that the connection had written before this stream. */
  #bytesBefore = 0;
  #unsentShare = 0;
  #writtenAtMs = 0;
  #hasWritten = false;
  /** Frames that are written together. */
  #gathered = "";
  #cancelKeepAlive: () => void = () => {};

  constructor(response: StreamedResponse, clock: Clock, { keepAlive = COMMENT, stallMs }: SseOptions) {
    this.#response = response;
    this.#body = new StreamedBody(response);
    this.#clock = clock;
    this.#keepAlive = keepAlive;
    this.#stallMs = stallMs;
    writers.add(this);
    response.once("close", () => {
      writers.remove(this);
      this.#cancelKeepAlive();
    });
  }

  /** Bytes that wait for the client to read: at most what its socket queues (64 KiB) and the frames that were written at once. */
  get queuedBytes(): number {
    return this.#gathered.length + this.#response.writableLength;
  }

  /** The share of the stream that never left this process, because its client was given up; 0 for other clients. */
  get unsentShare(): number {
    return this.#unsentShare;
  }

  /** Whether status and headers are sent. */
  get isOpen(): boolean {
    return this.#response.headersSent;
  }

  /** Sends status and headers; from then on an error can only be a frame. Only event streams get keep-alives. */
  open({ contentType = EVENT_STREAM, headers = [] }: { contentType?: string; headers?: HeaderList } = {}): void {
    if (this.#isGone()) return;
    this.#bytesBefore = this.#response.socket?.bytesWritten ?? 0;
    this.#response.writeHead(200, [...headers, "content-type", contentType, "cache-control", "no-cache", "x-accel-buffering", "no"]);
    this.#body.begin();
    // Usually a frame follows at once, and the headers are sent with it.
    setImmediate(() => {
      if (!this.#hasWritten && !this.#isGone()) this.#response.flushHeaders();
    });
    this.#writtenAtMs = this.#clock.monotonicMs();
    if (contentType === EVENT_STREAM && this.#keepAlive !== "") this.#keepAliveIn(KEEP_ALIVE_MS);
  }

  /** False if the client has disconnected. Frames of one tick are written together, because a write costs more than a frame. */
  write(frames: string | Uint8Array): boolean | Promise<boolean> {
    if (this.#gathered === "" && typeof frames === "string") process.nextTick(() => this.flush());
    return this.gather(frames);
  }

  /** The same for a caller that flushes when it has no more frames. */
  gather(frames: string | Uint8Array): boolean | Promise<boolean> {
    if (this.#isGone()) return false;
    this.#hasWritten = true;
    if (typeof frames === "string") this.#gather(frames);
    else this.#writeBytes(frames);
    return this.#response.writableNeedDrain ? this.#drained().then(() => !this.#isGone()) : true;
  }

  /** Writes the last frames and ends the response. */
  end(frames: string | Uint8Array): void {
    this.#cancelKeepAlive();
    this.#hasWritten = true;
    if (typeof frames !== "string") this.flush();
    const last = typeof frames === "string" ? this.#take() + frames : frames;
    if (!this.#isGone()) this.#body.end(last);
  }

  flush(): void {
    const frames = this.#take();
    if (frames !== "" && !this.#isGone()) this.#put(frames);
  }

  #writeBytes(bytes: Uint8Array): void {
    this.flush();
    this.#put(bytes);
  }

  #gather(frames: string): void {
    this.#gathered += frames;
    if (this.#gathered.length > GATHERED_CHARACTERS_MAX) this.flush();
  }

  #put(frames: string | Uint8Array): void {
    this.#writtenAtMs = this.#clock.monotonicMs();
    this.#body.write(frames);
  }

  #take(): string {
    const frames = this.#gathered;
    this.#gathered = "";
    return frames;
  }

  #isGone(): boolean {
    return this.#response.destroyed || this.#response.closed;
  }

  async #drained(): Promise<void> {
    await new Promise<void>((resolve) => {
      // A client that stops reading would keep its call open forever.
      const cancel = this.#clock.after(this.#stallMs, () => this.#giveUp());
      const finish = () => {
        this.#response.off("drain", finish);
        this.#response.off("close", finish);
        cancel();
        resolve();
      };
      this.#response.once("drain", finish);
      this.#response.once("close", finish);
    });
  }

  #giveUp(): void {
    const written = (this.#response.socket?.bytesWritten ?? 0) - this.#bytesBefore;
    this.#unsentShare = written > 0 ? Math.min(1, this.#response.writableLength / written) : 0;
    this.#response.destroy();
  }

  #keepAliveIn(milliseconds: number): void {
    this.#cancelKeepAlive = this.#clock.after(milliseconds, () => {
      const idleMs = this.#clock.monotonicMs() - this.#writtenAtMs;
      if (idleMs < KEEP_ALIVE_MS) return this.#keepAliveIn(KEEP_ALIVE_MS - idleMs);
      if (!this.#isGone() && !this.#response.writableNeedDrain) {
        this.#hasWritten = true;
        this.#put(this.#keepAlive);
      }
      this.#keepAliveIn(KEEP_ALIVE_MS);
    });
  }
}
