import type { RequestHandler } from "express";
import { chatExchange } from "../../../calls/formats/chat.ts";
import { parseChatRequest } from "../../../schemas/calls/chat.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS, readCall } from "./answer-call.ts";

/** POST chat/completions, on each of its paths. */
export function chatCompletionsHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body, pathModel } = await readCall(deps, request);
    const { job, routing, format } = chatExchange(parseChatRequest(body, pathModel));
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/chat/completions",
      caller: callerOf(response),
      job,
      routing,
      format,
      rawBody,
      pathModel,
      errors: GATEWAY_ERRORS,
    });
  };
}
