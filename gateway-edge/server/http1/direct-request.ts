import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { CallResponse, WholeRequest } from "../../calls/http-exchange.ts";
import type { RequestHead } from "./request-head.ts";

const NONE = Object.freeze({});

/** A request that a call connection has read to its end. */
export class DirectRequest implements WholeRequest {
  readonly method = "POST";
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly wholeBody: Buffer;
  readonly socket: Socket;
  /** The paths of calls have neither. */
  readonly query: WholeRequest["query"] = NONE;
  params: WholeRequest["params"] = NONE;
  res?: CallResponse | undefined;

  constructor({ path, headers, rawHeaders }: RequestHead, { body, socket }: { body: Buffer; socket: Socket }) {
    this.url = path;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
    this.wholeBody = body;
    this.socket = socket;
  }

  /** Each header was sent once. */
  get headersDistinct(): NodeJS.Dict<string[]> {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, [String(value)]]));
  }
}
