import type { Express, Request, Response } from "express";
import { IncomingMessage, ServerResponse } from "../../common/node-http.ts";
import { type HeaderList, nameAt, valueIn } from "../calls/header-list.ts";
import type { HeaderFields } from "../calls/http-exchange.ts";

/** Request and response classes for `createServer`. */
export interface OwnObjects {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Request and response classes that have the app's prototypes from the start. Express replaces the prototype of each request and response,
 * which is slow in itself and makes every later access slow; with these classes that step changes nothing.
 */
export function ownObjects(app: Express): OwnObjects {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {
    readonly locals: Record<string, unknown> = {};
    readonly earlyHeaders: string[] = [];

    override hasHeader(name: string): boolean {
      return nameAt(this.earlyHeaders, name) >= 0 || super.hasHeader(name);
    }

    override getHeader(name: string): ReturnType<ServerResponse["getHeader"]> {
      return super.getHeader(name) ?? valueIn(this.earlyHeaders, name);
    }

    override writeHead(status: number, given?: unknown, headers?: unknown): this {
      const early = this.earlyHeaders;
      if (Array.isArray(given)) return super.writeHead(status, withEarly(given as HeaderList, early));
      for (let at = 0; at < early.length; at += 2) {
        const [name, value] = [early[at] as string, early[at + 1] as string];
        if (!super.hasHeader(name)) super.setHeader(name, value);
      }
      return super.writeHead(status, given as string, headers as string[]);
    }
  }
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as unknown as Request;
  app.response = AppResponse.prototype as unknown as Response;
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as unknown as typeof ServerResponse };
}

function withEarly(headers: HeaderList, early: HeaderList): string[] {
  const list = [...headers];
  for (let at = 0; at < early.length; at += 2) {
    const [name, value] = [early[at] as string, early[at + 1] as string];
    if (nameAt(list, name) < 0) list.push(name, value);
  }
  return list;
}

/**
 * Sets a header that every answer of the request has, unless the answer has its own of that name. An answer whose other headers come as a
 * list then has no header from `setHeader`, which makes each of them cost twice as much.
 */
export function setEarly(response: HeaderFields, name: string, value: string): void {
  const { earlyHeaders } = response;
  if (earlyHeaders) earlyHeaders.push(name, value);
  else response.setHeader(name, value);
}
