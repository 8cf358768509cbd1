import { chatExchange } from "../../../calls/formats/chat.ts";
import { parseChatRequest } from "../../../schemas/calls/chat.ts";
import { chatWithFiles, namesFiles } from "../../../stored/files/inline-files.ts";
import { hasPrompt, type PromptDeps, promptedChat } from "../../../stored/prompts/apply-prompt.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import type { CallRoute } from "../gate.ts";
import type { CallDeps } from "./answer-call.ts";
import { callHandler } from "./call-handler.ts";

/** POST chat/completions, on each of its paths. */
export function chatCompletionsHandler(deps: CallDeps & PromptDeps): CallRoute["handler"] {
  return callHandler(deps, "/v1/chat/completions", ({ response, body, pathModel }) => {
    const exchange = (asked: unknown) => {
      const chat = parseChatRequest(asked, pathModel);
      return namesFiles(chat.messages) ? chatWithFiles(deps, callerOf(response), chat).then(chatExchange) : chatExchange(chat);
    };
    return hasPrompt(body) ? promptedChat(deps, callerOf(response), body).then(exchange) : exchange(body);
  });
}
