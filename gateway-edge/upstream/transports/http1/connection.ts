import { connect as connectTcp, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { type Guard, OPERATOR_GUARD } from "../../../../common/outbound.ts";
import type { UpstreamTls } from "../../providers/provider.ts";
import type { Address } from "../address.ts";
import type { UpstreamProxy } from "../proxies.ts";
import { secureContextOf } from "../tls-identity.ts";
import { ConnectTooLong, UpstreamClosed } from "./connection-errors.ts";
import { type Message, writeChunk } from "./request.ts";
import { type ResponseEvents, ResponseParser } from "./response-parser.ts";
import { openTunnel } from "./tunnel.ts";
import { WriteCoalescer } from "./write-coalescer.ts";

/** What a call may do to its connection, until the call has ended. */
export interface CallControl {
  readonly paused: boolean;
  /** Ends the call at once; its handler is not notified. */
  abort(reason: unknown): void;
  pause(): void;
  resume(): void;
}

/** Notified of a call, from its start to its end or failure. */
export interface CallHandler {
  /** All connections are in use: the call waits for one. */
  onQueued?(): void;
  /** The call has a connection. The handler may abort at once: then nothing is sent. */
  onRequestStart(control: CallControl): void;
  onResponseStart(control: CallControl, status: number, headers: Record<string, string>): void;
  onResponseData(control: CallControl, bytes: Uint8Array): void;
  onResponseEnd(): void;
  onResponseError(control: CallControl | null, error: Error): void;
}

/** A serialized request. */
export interface Call {
  readonly message: Message;
  readonly handler: CallHandler;
}

export interface ConnectionOwner {
  readonly address: Address;
  readonly connectMs: number;
  readonly tls: UpstreamTls | undefined;
  readonly proxy: UpstreamProxy | undefined;
  /** Checks the address of a new connection. */
  guard(): Guard;
  /** The TLS session of an earlier connection: it halves the next handshake. */
  session: Buffer | undefined;
  /** The call has ended, and the connection can be reused; `idleMs`: for how long the upstream keeps it open, if announced. */
  freed(connection: Connection, idleMs: number | undefined): void;
  /** Its call was not sent: the connection can be reused, for as long as before. */
  unused(connection: Connection): void;
  gone(connection: Connection): void;
  dispatch(call: Call): void;
}

const PROBE_AFTER_MS = 60_000;
/** What a paused TLS connection reads ahead: one record. */
const TLS_READ_AHEAD_BYTES = 16 * 1024;
/** Every plain-text connection reads into this buffer: forwarded bytes are copied, and no read starts before the previous one is processed. */
const SHARED = Buffer.allocUnsafeSlow(64 * 1024);

const writes = new WriteCoalescer();

interface Hop extends Pick<Guard, "lookup"> {
  readonly host: string;
  readonly port: number;
}

const hopTo = ({ host, port }: Pick<Hop, "host" | "port">, { lookup }: Guard): Hop => ({ host, port, lookup });

/** One connection, one call at a time. */
export class Connection implements CallControl, ResponseEvents {
  /** While idle: until when it may be used again. */
  idleUntilMs = 0;
  paused = false;
  readonly #owner: ConnectionOwner;
  readonly #parser = new ResponseParser(this);
  /** First the connection to the proxy, where there is one. */
  #socket: Socket;
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
    this.#socket = this.#watched(this.#connect());
    this.#connectTimer = setTimeout(() => this.#socket.destroy(new ConnectTooLong(owner.connectMs)), owner.connectMs);
  }

  get isAlive(): boolean {
    return this.#isOpen && !this.#socket.destroyed;
  }

  /** Only while no other call runs on it. False: the call was aborted at once, and the connection is still free. */
  start(call: Call): boolean {
    this.#call = call;
    this.#isUnsent = true;
    call.handler.onRequestStart(this);
    if (this.#isOpen && this.#call) writes.add(this);
    return this.#call !== undefined || !this.#isOpen;
  }

  /** Sends the started call. */
  send(): void {
    if (this.#socket.destroyed) return;
    const call = this.#call;
    // Its client disconnected meanwhile: the connection is still free.
    if (!call) return void this.#owner.unused(this);
    this.#isUnsent = false;
    const { head, body, isHead } = call.message;
    this.#parser.begin({ isHead });
    this.#socket.write(head);
    if (body instanceof Uint8Array) this.#socket.write(body);
    else if (body) void this.#upload(call, body);
  }

  /** Writes a body while it is read; a slow upstream slows the reading. A call that ends meanwhile ends the reading. */
  async #upload(call: Call, body: AsyncIterable<Uint8Array>): Promise<void> {
    this.#isUploading = true;
    try {
      for await (const bytes of body) {
        if (this.#call !== call) return;
        if (bytes.length === 0) continue;
        const hasRoom = call.message.isChunked ? writeChunk(this.#socket, bytes) : this.#socket.write(bytes);
        if (!hasRoom) await this.#drained();
      }
      if (this.#call === call && call.message.isChunked) this.#socket.write("0\r\n\r\n");
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

  /** Only while no call runs on it. */
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

  #watched(socket: Socket): Socket {
    socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);
    socket.on("error", (error) => {
      this.#error ??= error;
    });
    // An upstream that closed its side gets no more requests.
    socket.on("end", () => socket.destroy());
    // A tunnel is closed together with the connection inside it.
    socket.on("close", () => {
      if (socket === this.#socket) this.#closed();
    });
    return socket;
  }

  #connect(): Socket {
    const { address, proxy } = this.#owner;
    const guard = this.#owner.guard();
    guard.checkHost(address.host);
    if (!proxy)
      return address.isTls
        ? this.#connectTls({ ...hopTo(address, guard), session: this.#owner.session })
        : this.#connectTcp(hopTo(address, guard));
    if (address.isTls) return openTunnel(proxy, address, () => this.#enterTunnel());
    // The request itself tells the proxy where it goes. A proxy resolves names, so that only the text of the host is checked.
    const hop = hopTo(proxy, OPERATOR_GUARD);
    OPERATOR_GUARD.checkHost(proxy.host);
    return proxy.isTls ? this.#connectTls(hop) : this.#connectTcp(hop);
  }

  #connectTcp(hop: Hop): Socket {
    const callback = (length: number, buffer: Uint8Array): boolean => {
      this.#received((buffer as Buffer).subarray(0, length), true);
      return true;
    };
    const socket = connectTcp({ ...hop, onread: { buffer: SHARED, callback } });
    return socket.once("connect", () => this.#opened());
  }

  #enterTunnel(): void {
    const { host } = this.#owner.address;
    try {
      this.#socket = this.#watched(this.#connectTls({ host, socket: this.#socket, session: this.#owner.session }));
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #connectTls(hop: (Hop | { readonly host: string; readonly socket: Socket }) & { readonly session?: Buffer | undefined }): Socket {
    const { tls, address } = this.#owner;
    const options = {
      ...hop,
      servername: isIP(hop.host) === 0 ? hop.host : undefined,
      // The certificate of a deployment is not for the proxy in front of it.
      ...(tls && address.isTls ? { secureContext: secureContextOf(tls) } : undefined),
      ALPNProtocols: ["http/1.1"],
      // Set explicitly, so that no environment variable can disable it.
      rejectUnauthorized: true,
      // Not among the declared options, but Node passes it to the socket.
      highWaterMark: TLS_READ_AHEAD_BYTES,
    };
    const socket = connectTls(options as ConnectionOptions);
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
    // Bytes without a request: their meaning is unknown.
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
    // The answer came before the whole request was sent: how the upstream reads the rest is unknown.
    if (this.#parser.reusable && !this.#isUploading && this.#socket.writableLength === 0) this.#owner.freed(this, this.#parser.idleMs);
    else this.#socket.destroy();
  }

  #closed(): void {
    clearTimeout(this.#connectTimer);
    const wasOpen = this.#isOpen;
    // The upstream may have refused the TLS session: the next connection makes a full handshake.
    if (!wasOpen && this.#error) this.#owner.session = undefined;
    this.#isOpen = false;
    // An answer without a length ends with its connection.
    if (this.#call && !this.#isUnsent && !this.#error) this.#parser.closed();
    const call = this.#call;
    this.#call = undefined;
    // Closed before its call was sent: the call takes another connection.
    if (wasOpen && this.#isUnsent && call) this.#owner.dispatch(call);
    else call?.handler.onResponseError(this, this.#error ?? new UpstreamClosed());
    this.#owner.gone(this);
  }
}
