import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** The request line and headers. */
export interface RequestHeadFields {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

interface RequestFields extends RequestHeadFields {
  readonly rawHeaders: string[];
  readonly headersDistinct: NodeJS.Dict<string[]>;
  readonly socket: Socket;
  readonly query: Readonly<Record<string, unknown>>;
  /** Parameters of the path. */
  params: Readonly<Record<string, string | string[]>>;
  res?: CallResponse | undefined;
}

/** The headers of a response that has not begun. */
export interface HeaderFields {
  /** Headers that the answer has unless its own list has them. */
  readonly earlyHeaders?: string[];
  getHeader(name: string): number | string | readonly string[] | undefined;
  setHeader(name: string, value: number | string | readonly string[]): unknown;
}

/** A response whose body may be written in parts. */
export interface StreamedResponse extends HeaderFields {
  statusCode: number;
  readonly headersSent: boolean;
  /** Whether the body is sent in chunks; a writer that frames them itself sets it to false after the head. */
  chunkedEncoding: boolean;
  readonly socket: Pick<Socket, "bytesWritten"> | null;
  /** Bytes that wait for the client to read. */
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  readonly writableFinished: boolean;
  readonly destroyed: boolean;
  readonly closed: boolean;
  hasHeader(name: string): boolean;
  writeHead(status: number, headers: string[]): unknown;
  flushHeaders(): void;
  write(part: string | Uint8Array): boolean;
  end(part?: string | Uint8Array): unknown;
  destroy(): unknown;
  on(event: "close" | "drain", listener: () => void): unknown;
  once(event: "close" | "drain", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
}

/** What a route that makes calls does with its response. */
export interface CallResponse extends StreamedResponse {
  readonly locals: Record<string, unknown>;
  vary(name: string): unknown;
  /** Sets the status of an answer whose body follows. */
  status(status: number): { json(body: unknown): unknown; end(): unknown };
}

/** A request of a call connection, whose body arrived with it. */
export interface WholeRequest extends RequestFields {
  readonly wholeBody: Buffer;
}

/** What a route that makes calls reads of its request, which is one of a call connection or of express. */
export type CallRequest = WholeRequest | (RequestFields & IncomingMessage);
