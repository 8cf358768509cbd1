import type { RemoteCount } from "../provider.ts";
import { asFields } from "../shared/json-fields.ts";
import { countable, readCount } from "../shared/remote-count.ts";
import { anthropicHeaders, versionRules } from "./headers.ts";
import { messagesBody, messagesUrl } from "./request.ts";

/** What count_tokens takes of a message's request; it refuses the rest. */
const COUNTED = ["model", "system", "messages", "tools", "tool_choice", "thinking", "output_config"];

export const anthropicCount: RemoteCount = {
  tokenizer: "anthropic_api",
  takesContents: false,
  buildRequest: (call, target) => ({
    url: `${messagesUrl(target)}/count_tokens`,
    headers: anthropicHeaders(target),
    body: JSON.stringify(countable(messagesBody(call, target.inferenceModelId, versionRules(target.params)), COUNTED)),
  }),
  readAnswer: (body) => readCount(asFields(body)["input_tokens"]),
};
