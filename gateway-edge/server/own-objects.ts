import { IncomingMessage, ServerResponse } from "node:http";
import type { Express, Request, Response } from "express";

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
  }
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as unknown as Request;
  app.response = AppResponse.prototype as unknown as Response;
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as unknown as typeof ServerResponse };
}
