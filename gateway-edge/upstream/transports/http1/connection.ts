import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Address } from "../transport.ts";
import type { Message } from "./request.ts";
import { type ResponseEvents, ResponseParser } from "./response-parser.ts";
import { WriteCoalescer } from "./write-coalescer.ts";

/** What a call may do to the connection it runs on, until it has ended. */
export interface CallControl {
  readonly paused: boolean;
  /** Ends it here and now; the one who aborts is not told. */
  abort(reason: unknown): void;
  pause(): void;
  resume(): void;
}

/** Hears of a call, from its start to its end or its failure, whichever comes. */
export interface CallHandler {
  /** All connections are in use: it waits for one. */
  onQueued?(): void;
  /** It has a connection. May abort at once: then nothing is sent. */
  onRequestStart(control: CallControl): void;
  onResponseStart(control: CallControl, status: number, headers: Record<string, string>): void;
  onResponseData(control: CallControl, bytes: Uint8Array): void;
  onResponseEnd(): void;
  onResponseError(control: CallControl | null, error: Error): void;
}

/** A serialized request and the handler of its answer. */
export interface Call {
  readonly message: Message;
  readonly handler: CallHandler;
}

export interface ConnectionOwner {
  readonly address: Address;
  readonly connectMs: number;
  /** A ticket of an earlier connection: the next one greets in half the time. */
  session: Buffer | undefined;
  /** Its call has ended, and it can carry another; for how long the upstream keeps it open, where that was said. */
  freed(connection: Connection, idleMs: number | undefined): void;
  /** It did not come to its call: it can carry another, for as long as before. */
  unused(connection: Connection): void;
  gone(connection: Connection): void;
  dispatch(call: Call): void;
}

const PROBE_AFTER_MS = 60_000;
/** Every plain connection reads into it: what is passed on is copied, and no read begins before the one before was taken in. */
const SHARED = Buffer.allocUnsafeSlow(64 * 1024);

const writes = new WriteCoalescer();

class UpstreamClosed extends Error {
  readonly code = "ECONNRESET";

  constructor() {
    super("the upstream closed the connection before its answer was complete");
  }
}

class ConnectTooLong extends Error {
  readonly code = "ETIMEDOUT";

  constructor(connectMs: number) {
    super(`the upstream did not take the connection within ${connectMs} ms`);
  }
}

/** One connection, one call at a time. */
export class Connection implements CallControl, ResponseEvents {
  /** When it is free: until when it may be used again. */
  idleUntilMs = 0;
  paused = false;
  readonly #owner: ConnectionOwner;
  readonly #parser = new ResponseParser(this);
  readonly #socket: Socket;
  readonly #connectTimer: NodeJS.Timeout;
  #isOpen = false;
  #call: Call | undefined;
  /** Nothing of the call was sent yet. */
  #isUnsent = false;
  /** A body is written; stays true when its call ended before. */
  #isUploading = false;
  #error: Error | undefined;

  constructor(owner: ConnectionOwner) {
    this.#owner = owner;
    this.#socket = owner.address.isTls ? this.#connectTls() : this.#connectTcp();
    this.#socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);
    this.#socket.on("error", (error) => {
      this.#error ??= error;
    });
    // An upstream that has no more to say is not spoken to either.
    this.#socket.on("end", () => this.#socket.destroy());
    this.#socket.on("close", () => this.#closed());
    this.#connectTimer = setTimeout(() => this.#socket.destroy(new ConnectTooLong(owner.connectMs)), owner.connectMs);
  }

  get isAlive(): boolean {
    return this.#isOpen && !this.#socket.destroyed;
  }

  /** While no other call runs on it. False: nobody waits for this one any more, and the connection is as free as before. */
  start(call: Call): boolean {
    this.#call = call;
    this.#isUnsent = true;
    call.handler.onRequestStart(this);
    if (this.#isOpen && this.#call) writes.add(this);
    return this.#call !== undefined || !this.#isOpen;
  }

  /** Sends the call that was started. */
  send(): void {
    if (this.#socket.destroyed) return;
    const call = this.#call;
    // Its client has left meanwhile: the connection is as free as before.
    if (!call) return void this.#owner.unused(this);
    this.#isUnsent = false;
    const { head, body, isHead } = call.message;
    this.#parser.begin({ isHead });
    this.#socket.write(head);
    if (body instanceof Uint8Array) this.#socket.write(body);
    else if (body) void this.#upload(call, body);
  }

  /** Writes a body in chunks while it is read; a slow upstream slows the reading. A call that ends meanwhile ends the reading. */
  async #upload(call: Call, body: AsyncIterable<Uint8Array>): Promise<void> {
    this.#isUploading = true;
    try {
      for await (const bytes of body) {
        if (this.#call !== call) return;
        if (bytes.length === 0) continue;
        this.#socket.cork();
        this.#socket.write(`${bytes.length.toString(16)}\r\n`);
        this.#socket.write(bytes);
        const hasRoom = this.#socket.write("\r\n");
        this.#socket.uncork();
        if (!hasRoom) await this.#drained();
      }
      if (this.#call === call) this.#socket.write("0\r\n\r\n");
      this.#isUploading = false;
    } catch (error) {
      if (this.#call === call) this.#socket.destroy(error as Error);
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#socket.off("drain", done).off("close", done);
        resolve();
      };
      this.#socket.on("drain", done).on("close", done);
      if (this.#socket.destroyed) done();
    });
  }

  /** While no call runs on it. */
  close(): void {
    this.#socket.destroy();
  }

  abort(): void {
    const wasFree = this.#isOpen && this.#isUnsent;
    this.#call = undefined;
    if (!wasFree) this.#socket.destroy();
  }

  pause(): void {
    this.paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.paused = false;
    this.#socket.resume();
  }

  head(status: number, headers: Record<string, string>): void {
    this.#call?.handler.onResponseStart(this, status, headers);
  }

  data(bytes: Buffer): void {
    this.#call?.handler.onResponseData(this, bytes);
  }

  end(): void {
    const call = this.#call;
    this.#call = undefined;
    call?.handler.onResponseEnd();
  }

  #connectTcp(): Socket {
    const callback = (length: number, buffer: Uint8Array): boolean => {
      this.#received((buffer as Buffer).subarray(0, length), true);
      return true;
    };
    const { host, port } = this.#owner.address;
    const socket = connectTcp({ host, port, onread: { buffer: SHARED, callback } });
    return socket.once("connect", () => this.#opened());
  }

  #connectTls(): Socket {
    const { host, port } = this.#owner.address;
    const { session } = this.#owner;
    const names = isIP(host) === 0 ? { servername: host } : {};
    // Said here, so that nothing in the environment can unsay it.
    const verified = { ...names, rejectUnauthorized: true };
    const socket = connectTls({ host, port, ...verified, ALPNProtocols: ["http/1.1"], ...(session ? { session } : {}) });
    socket.on("session", (ticket) => {
      this.#owner.session = ticket;
    });
    socket.on("data", (bytes: Buffer) => this.#received(bytes, false));
    return socket.once("secureConnect", () => this.#opened());
  }

  #opened(): void {
    clearTimeout(this.#connectTimer);
    this.#isOpen = true;
    this.send();
  }

  #received(bytes: Buffer, isShared: boolean): void {
    // Nobody asked: what it is can only be guessed.
    if (!this.#call || this.#isUnsent) return void this.#socket.destroy();
    try {
      this.#parser.feed(bytes, isShared);
    } catch (error) {
      this.#socket.destroy(error as Error);
      return;
    }
    if (!this.#call && !this.#socket.destroyed) this.#answered();
  }

  #answered(): void {
    if (this.paused) this.resume();
    // An answer before all of the request was sent: what the upstream makes of the rest nobody knows.
    if (this.#parser.reusable && !this.#isUploading && this.#socket.writableLength === 0) this.#owner.freed(this, this.#parser.idleMs);
    else this.#socket.destroy();
  }

  #closed(): void {
    clearTimeout(this.#connectTimer);
    const wasOpen = this.#isOpen;
    // The ticket may be what the upstream could not take: the next connection greets in full.
    if (!wasOpen && this.#error) this.#owner.session = undefined;
    this.#isOpen = false;
    // An answer without a length ends with its connection.
    if (this.#call && !this.#isUnsent && !this.#error) this.#parser.closed();
    const call = this.#call;
    this.#call = undefined;
    // Closed under a call that it did not get to see: that one takes another connection.
    if (wasOpen && this.#isUnsent && call) this.#owner.dispatch(call);
    else call?.handler.onResponseError(this, this.#error ?? new UpstreamClosed());
    this.#owner.gone(this);
  }
}
