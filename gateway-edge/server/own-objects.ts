import { IncomingMessage, ServerResponse } from "node:http";
import type { Express, Request, Response } from "express";

export interface OwnObjects {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Classes of requests and responses that are born as this app's own. Express gives each of them another prototype when it arrives, which
 * costs by itself and makes whatever touches them afterwards slow; where they have it already that step changes nothing.
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
