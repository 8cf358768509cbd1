import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { type HeaderList, nameAt, valueIn } from "../../calls/header-list.ts";
import type { CallResponse } from "../../calls/http-exchange.ts";
import { answerHead } from "./answer-head.ts";

/** What a response needs of its connection. */
export interface ResponseConnection {
  readonly socket: Socket;
  /** Whether the connection closes after this response, as far as the connection decides. */
  readonly isLast: boolean;
  /** The response was written to its end. */
  answered(response: DirectResponse): void;
}

/** A response of a call connection. It says and does what Node's would, for what routes of calls use. */
export class DirectResponse extends EventEmitter implements CallResponse {
  readonly locals: Record<string, unknown> = {};
  /** Headers that the answer has unless its own list has them. */
  readonly earlyHeaders: string[] = [];
  statusCode = 200;
  chunkedEncoding = false;
  headersSent = false;
  writableFinished = false;
  destroyed = false;
  closed = false;
  /** Whether its head asks the client to close the connection. */
  closesConnection = false;
  readonly #connection: ResponseConnection;
  /** The head, until the first bytes of the body are written with it. */
  #head = "";
  #isEnded = false;

  constructor(connection: ResponseConnection) {
    super();
    this.#connection = connection;
  }

  get socket(): Socket {
    return this.#connection.socket;
  }

  get writableLength(): number {
    return this.#head.length + this.socket.writableLength;
  }

  get writableNeedDrain(): boolean {
    return !this.#isEnded && this.socket.writableNeedDrain;
  }

  hasHeader(name: string): boolean {
    return nameAt(this.earlyHeaders, name.toLowerCase()) >= 0;
  }

  getHeader(name: string): string | undefined {
    return valueIn(this.earlyHeaders, name.toLowerCase());
  }

  setHeader(given: string, value: string): this {
    const name = given.toLowerCase();
    const at = nameAt(this.earlyHeaders, name);
    if (at >= 0) this.earlyHeaders[at + 1] = value;
    else this.earlyHeaders.push(name, value);
    return this;
  }

  vary(name: string): this {
    const present = this.getHeader("vary");
    return this.setHeader("vary", present === undefined ? name : `${present}, ${name}`);
  }

  writeHead(status: number, headers: HeaderList): this {
    if (this.headersSent) throw new Error("the head of a response was written twice");
    const head = answerHead(status, { headers, early: this.earlyHeaders, isLast: this.#connection.isLast });
    this.statusCode = status;
    this.headersSent = true;
    this.#head = head.text;
    this.chunkedEncoding = head.isInChunks;
    this.closesConnection = head.isLast;
    if (!head.isAscii) this.flushHeaders();
    return this;
  }

  flushHeaders(): void {
    if (this.#head === "" || this.destroyed) return;
    const head = this.#head;
    this.#head = "";
    // As Node encodes a head that is written alone.
    this.socket.write(head, "latin1");
  }

  /** Chunks are framed by the writer of the body (StreamedBody). */
  write(part: string | Uint8Array): boolean {
    if (this.destroyed || this.#isEnded) return false;
    if (typeof part !== "string") {
      this.flushHeaders();
      return this.socket.write(part);
    }
    const text = this.#head + part;
    this.#head = "";
    return this.socket.write(text);
  }

  end(part: string | Uint8Array = ""): this {
    if (this.#isEnded || this.destroyed) return this;
    if (!this.headersSent) this.writeHead(this.statusCode, ["content-length", String(part.length === 0 ? 0 : Buffer.byteLength(part))]);
    this.#isEnded = true;
    if (typeof part === "string") {
      const text = this.#head + part;
      this.#head = "";
      this.socket.write(text, this.#written);
    } else {
      this.flushHeaders();
      this.socket.write(part, this.#written);
    }
    return this;
  }

  status(status: number): this {
    this.statusCode = status;
    return this;
  }

  json(body: unknown): this {
    const text = JSON.stringify(body);
    const length = String(Buffer.byteLength(text));
    return this.writeHead(this.statusCode, ["content-type", "application/json; charset=utf-8", "content-length", length]).end(text);
  }

  /** Closes the connection, too. */
  destroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.socket.destroy();
    return this;
  }

  /** The connection was closed. */
  cut(): void {
    this.destroyed = true;
    this.#close();
  }

  readonly #written = (error?: Error | null): void => {
    if (error || this.closed) return;
    this.writableFinished = true;
    this.#close();
    this.#connection.answered(this);
  };

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    this.emit("close");
  }
}
