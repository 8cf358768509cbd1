import type { RemoteCount } from "../provider.ts";
import { asFields } from "../shared/json-fields.ts";
import { countable, readCount } from "../shared/remote-count.ts";
import { bedrockRequest, converseBody } from "./request.ts";

const COUNTED = ["messages", "system", "toolConfig", "additionalModelRequestFields"];

/** CountTokens, of a Converse request. */
export const bedrockCount: RemoteCount = {
  tokenizer: "bedrock_api",
  takesContents: false,
  buildRequest: (call, target) =>
    bedrockRequest(target, "count-tokens", { input: { converse: countable(converseBody(call, target), COUNTED) } }),
  readAnswer: (body) => readCount(asFields(body)["inputTokens"]),
};
