import { bedrockRules, bedrock as declaration } from "../../../../common/providers/bedrock.ts";
import { paramsOf } from "../../../../common/providers/shared/params.ts";
import type { Provider } from "../provider.ts";
import { readUpstreamError } from "../shared/read-upstream-error.ts";
import { readBedrockAnswer } from "./answer.ts";
import { bedrockCount, bedrockMessages, buildBedrockRequest } from "./request.ts";
import { readBedrockStream } from "./stream.ts";

/** Amazon Bedrock's Converse API, for every model behind it. */
export const bedrock: Provider = {
  kind: declaration.kind,
  chat: {
    supportedParams: paramsOf(declaration, "chat"),
    framing: "aws-event-stream",
    takesBlocks: (model) => bedrockRules(model).reasoning === "claude",
    readsDocumentUrls: true,
    buildRequest: buildBedrockRequest,
    readAnswer: readBedrockAnswer,
    readStream: readBedrockStream,
  },
  messages: bedrockMessages,
  readError: readUpstreamError,
  remoteCount: bedrockCount,
};
