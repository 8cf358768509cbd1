import type { RequestHandler } from "express";
import { completionsExchange } from "../../../calls/formats/completions.ts";
import { parseCompletionsRequest } from "../../../schemas/calls/completions.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS, readCall } from "./answer-call.ts";

/** POST completions, on each of its paths; `?model=` names the model if the path does not. */
export function completionsHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body, pathModel } = await readCall(deps, request);
    const named = pathModel ?? (typeof request.query["model"] === "string" ? request.query["model"] : undefined);
    const asked = parseCompletionsRequest(body, named);
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/completions",
      caller: callerOf(response),
      ...completionsExchange(asked),
      rawBody,
      pathModel: named,
      errors: GATEWAY_ERRORS,
    });
  };
}
