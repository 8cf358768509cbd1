import type { RequestHandler } from "express";
import { chatExchange } from "../../../calls/formats/chat.ts";
import { parseChatRequest } from "../../../schemas/calls/chat.ts";
import { hasPrompt, type PromptDeps, promptedChat } from "../../../stored/prompts/apply-prompt.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS, readCall } from "./answer-call.ts";

/** POST chat/completions, on each of its paths. */
export function chatCompletionsHandler(deps: CallDeps & PromptDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body, pathModel } = await readCall(deps, request);
    const asked = hasPrompt(body) ? await promptedChat(deps, callerOf(response), body) : body;
    const { job, routing, format } = chatExchange(parseChatRequest(asked, pathModel));
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
