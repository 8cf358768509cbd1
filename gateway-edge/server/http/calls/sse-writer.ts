import type { ServerResponse } from "node:http";
import type { Clock } from "../../../../common/clock.ts";

const EVENT_STREAM = "text/event-stream; charset=utf-8";
const KEEP_ALIVE_MS = 15_000;
const DRAIN_MS_MAX = 60_000;
/** More is not gathered: whether the client keeps up is known only of what was written. */
const GATHERED_CHARACTERS_MAX = 65_536;
/** A comment: every other kind of frame without data breaks some client of OpenAI's API. */
const COMMENT = ": keep-alive\n\n";

/** Writes server-sent events to a client: waits for one that reads slowly, gives up one that does not read. */
export class SseWriter {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #keepAlive: string;
  #writtenAtMs = 0;
  #hasWritten = false;
  /** Frames that go out together at the end of this turn. */
  #gathered = "";
  #cancelKeepAlive: () => void = () => {};

  constructor(response: ServerResponse, clock: Clock, keepAlive = COMMENT) {
    this.#response = response;
    this.#clock = clock;
    this.#keepAlive = keepAlive;
    response.once("close", () => this.#cancelKeepAlive());
  }

  /** Whether the status is out. */
  get isOpen(): boolean {
    return this.#response.headersSent;
  }

  /** Sends status and headers; from here on an error can only be a frame. What is no stream of events gets no keep-alives. */
  open(contentType: string = EVENT_STREAM): void {
    if (this.#isGone()) return;
    this.#response.setHeader("content-type", contentType);
    this.#response.setHeader("cache-control", "no-cache");
    this.#response.setHeader("x-accel-buffering", "no");
    this.#response.writeHead(200);
    // Nearly always a frame follows at once, and takes the head along.
    setImmediate(() => {
      if (!this.#hasWritten && !this.#isGone()) this.#response.flushHeaders();
    });
    this.#writtenAtMs = this.#clock.monotonicMs();
    if (contentType === EVENT_STREAM) this.#keepAliveIn(KEEP_ALIVE_MS);
  }

  /** False when the client is gone. */
  write(frames: string | Uint8Array): boolean | Promise<boolean> {
    if (this.#isGone()) return false;
    this.#hasWritten = true;
    if (typeof frames === "string") this.#gather(frames);
    else this.#writeBytes(frames);
    return this.#response.writableNeedDrain ? this.#drained().then(() => !this.#isGone()) : true;
  }

  /** The last frames; the connection's answer ends with them, or clients would wait for more. */
  end(frames: string | Uint8Array): void {
    this.#cancelKeepAlive();
    this.#hasWritten = true;
    if (typeof frames !== "string") this.#flush();
    const last = typeof frames === "string" ? this.#take() + frames : frames;
    if (!this.#isGone()) this.#response.end(last);
  }

  #writeBytes(bytes: Uint8Array): void {
    this.#flush();
    this.#put(bytes);
  }

  /** What arrived together leaves together: a write of its own for each frame costs more than the frame. */
  #gather(frames: string): void {
    if (this.#gathered === "") process.nextTick(() => this.#flush());
    this.#gathered += frames;
    // An upstream whose data is all here already gives no turn in which it could go out.
    if (this.#gathered.length > GATHERED_CHARACTERS_MAX) this.#flush();
  }

  #flush(): void {
    const frames = this.#take();
    if (frames !== "" && !this.#isGone()) this.#put(frames);
  }

  #put(frames: string | Uint8Array): void {
    this.#writtenAtMs = this.#clock.monotonicMs();
    this.#response.write(frames);
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
      // A client that stopped reading would hold its call for ever.
      const cancel = this.#clock.after(DRAIN_MS_MAX, () => this.#response.destroy());
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
