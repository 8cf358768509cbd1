import type { RequestHandler } from "express";
import type { Clock } from "../../../common/clock.ts";
import { digitsOfCall, newId } from "../../../common/ids.ts";
import type { Random } from "../../../common/random.ts";
import type { CallRequest, HeaderFields } from "../../calls/http-exchange.ts";
import { setEarly } from "../own-objects.ts";

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Sets `x-request-id` on every response: the caller's own if it is valid. */
export function requestId(source: { clock: Clock; random: Random }): RequestHandler {
  return (request, response, next) => {
    assignRequestId(request, response, source);
    next();
  };
}

/** Sets the header unless it is set already, and returns its value. An id that is made has the digits of the call, if the request makes one. */
export function assignRequestId(
  request: Pick<CallRequest, "headers">,
  response: HeaderFields,
  source: { clock: Clock; random: Random },
  callId?: string,
): string {
  const present = response.getHeader("x-request-id");
  if (typeof present === "string") return present;
  const given = request.headers["x-request-id"];
  const made = () => (callId === undefined ? newId("req", source) : `req_${digitsOfCall(callId)}`);
  const assigned = typeof given === "string" && REQUEST_ID.test(given) ? given : made();
  setEarly(response, "x-request-id", assigned);
  return assigned;
}

export function requestIdOf(response: Pick<HeaderFields, "getHeader">): string {
  const header = response.getHeader("x-request-id");
  return typeof header === "string" ? header : "";
}
