import { PROVIDER_PARAMS } from "../../common/providers/params.ts";
import { readAnthropicAnswer } from "./anthropic-answer.ts";
import { anthropicCount } from "./anthropic-count.ts";
import { buildAnthropicRequest } from "./anthropic-request.ts";
import { readAnthropicStream } from "./anthropic-stream.ts";
import type { Provider } from "./provider.ts";
import { readUpstreamError } from "./read-upstream-error.ts";

/** Anthropic's Messages API. */
export const anthropic: Provider = {
  kind: "anthropic",
  chat: {
    supportedParams: PROVIDER_PARAMS.anthropic.chat,
    framing: "sse",
    takesBlocks: () => true,
    buildRequest: buildAnthropicRequest,
    readAnswer: readAnthropicAnswer,
    readStream: readAnthropicStream,
  },
  readError: readUpstreamError,
  remoteCount: anthropicCount,
};
