import { readAnthropicAnswer } from "./anthropic-answer.ts";
import { anthropicCount } from "./anthropic-count.ts";
import { anthropicParams, buildAnthropicRequest } from "./anthropic-request.ts";
import { readAnthropicStream } from "./anthropic-stream.ts";
import type { Provider } from "./provider.ts";
import { readUpstreamError } from "./read-upstream-error.ts";

/** Anthropic's Messages API. */
export const anthropic: Provider = {
  kind: "anthropic",
  chat: {
    supportedParams: anthropicParams,
    framing: "sse",
    takesBlocks: () => true,
    buildRequest: buildAnthropicRequest,
    readAnswer: readAnthropicAnswer,
    readStream: readAnthropicStream,
  },
  readError: readUpstreamError,
  remoteCount: anthropicCount,
};
