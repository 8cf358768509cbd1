import type { Request, RequestHandler, Response } from "express";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { answerCall, type CallDeps, type CallExchange, GATEWAY_ERRORS, readCall } from "./answer-call.ts";

/** What a request asks for, as its route reads it. */
export interface AskedCall<Answer> extends Pick<CallExchange<Answer>, "job" | "routing" | "format"> {
  /** Where the route finds it elsewhere than in its path. */
  readonly pathModel?: string | undefined;
}

/** A request with a JSON body. */
export interface ReceivedCall {
  readonly request: Request;
  readonly response: Response;
  readonly body: unknown;
  readonly pathModel: string | undefined;
}

/** A route that makes one call of the JSON body that it reads, and sends the answer of the call. */
export function callHandler<Answer>(
  deps: CallDeps,
  endpoint: string,
  read: (received: ReceivedCall) => AskedCall<Answer> | Promise<AskedCall<Answer>>,
): RequestHandler {
  return (request, response) =>
    readCall(deps, request).then(({ rawBody, body, pathModel }) => {
      const answer = ({ job, routing, format, pathModel: named = pathModel }: AskedCall<Answer>) =>
        answerCall(deps, {
          request,
          response,
          callId: String(response.locals["callId"]),
          endpoint,
          caller: callerOf(response),
          job,
          routing,
          format,
          rawBody,
          pathModel: named,
          errors: GATEWAY_ERRORS,
        });
      const asked = read({ request, response, body, pathModel });
      return asked instanceof Promise ? asked.then(answer) : answer(asked);
    });
}
