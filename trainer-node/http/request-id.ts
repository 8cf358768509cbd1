import type { Request, RequestHandler, Response } from "express";
import type { Clock } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";
import type { Random } from "../../common/random.ts";

const SANE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Sets the `x-request-id` of an answer: the caller's if it is valid, a new one otherwise. */
export function setRequestId(request: Request, response: Response, sources: { clock: Clock; random: Random }): string {
  const given = request.get("x-request-id");
  const requestId = given && SANE_ID.test(given) ? given : newId("req", sources);
  response.setHeader("x-request-id", requestId);
  return requestId;
}

/** The request id of an answer; undefined in an app that sets none, so that the field is absent and not the text "undefined". */
export const requestIdOf = (response: Response): string | undefined => response.getHeader("x-request-id")?.toString();

/** Sets request ids in an app without metrics. */
export function requestIds(sources: { clock: Clock; random: Random }): RequestHandler {
  return (request, response, next) => {
    setRequestId(request, response, sources);
    next();
  };
}
