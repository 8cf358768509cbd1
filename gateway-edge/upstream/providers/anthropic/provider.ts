import { anthropic as declaration } from "../../../../common/providers/anthropic.ts";
import { paramsOf } from "../../../../common/providers/shared/params.ts";
import type { Provider } from "../provider.ts";
import { readUpstreamError } from "../shared/read-upstream-error.ts";
import { readAnthropicAnswer } from "./answer.ts";
import { anthropicCount, anthropicMessages, buildAnthropicRequest } from "./request.ts";
import { readAnthropicStream } from "./stream.ts";

/** Anthropic's Messages API. */
export const anthropic: Provider = {
  kind: declaration.kind,
  chat: {
    supportedParams: paramsOf(declaration, "chat"),
    framing: "sse",
    takesBlocks: () => true,
    readsDocumentUrls: true,
    buildRequest: buildAnthropicRequest,
    readAnswer: readAnthropicAnswer,
    readStream: readAnthropicStream,
  },
  messages: anthropicMessages,
  readError: readUpstreamError,
  remoteCount: anthropicCount,
};
