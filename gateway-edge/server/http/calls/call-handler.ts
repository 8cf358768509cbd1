import type { CallRequest, CallResponse } from "../../../calls/http-exchange.ts";
import { takeClientParams } from "../../../upstream/client-params.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import type { CallRoute } from "../gate.ts";
import { answerCall, type CallDeps, type CallExchange, GATEWAY_ERRORS } from "./answer-call.ts";
import { type ReadCall, readCall } from "./read-call.ts";

/** What a request asks for, as its route reads it. */
export interface AskedCall<Answer> extends Pick<CallExchange<Answer>, "job" | "routing" | "format"> {
  /** Where the route finds it elsewhere than in its path. */
  readonly pathModel?: string | undefined;
}

/** A request with a JSON body. */
export interface ReceivedCall {
  readonly request: CallRequest;
  readonly response: CallResponse;
  readonly body: unknown;
  readonly pathModel: string | undefined;
}

/** A route that makes one call of the JSON body that it reads, and sends the answer of the call. */
export function callHandler<Answer>(
  deps: CallDeps,
  endpoint: string,
  read: (received: ReceivedCall) => AskedCall<Answer> | Promise<AskedCall<Answer>>,
): CallRoute["handler"] {
  return (request, response) => {
    const make = ({ rawBody, body, pathModel }: ReadCall) => {
      const taken = deps.takesClientParams() ? takeClientParams(body) : undefined;
      const answer = ({ job, routing, format, pathModel: named = pathModel }: AskedCall<Answer>) =>
        answerCall(deps, {
          request,
          response,
          callId: String(response.locals["callId"]),
          endpoint,
          caller: callerOf(response),
          job,
          routing: taken ? { ...routing, client: taken.params } : routing,
          format,
          rawBody,
          pathModel: named,
          errors: GATEWAY_ERRORS,
        });
      const asked = read({ request, response, body: taken ? taken.rest : body, pathModel });
      return asked instanceof Promise ? asked.then(answer) : answer(asked);
    };
    const received = readCall(deps, request);
    return received instanceof Promise ? received.then(make) : make(received);
  };
}
