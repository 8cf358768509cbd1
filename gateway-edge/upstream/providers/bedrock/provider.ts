import { bedrockRules } from "../../../../common/providers/bedrock.ts";
import { PROVIDER_PARAMS } from "../../../../common/providers/params.ts";
import type { Provider } from "../provider.ts";
import { readUpstreamError } from "../shared/read-upstream-error.ts";
import { readBedrockAnswer } from "./answer.ts";
import { bedrockCount, buildBedrockRequest } from "./request.ts";
import { readBedrockStream } from "./stream.ts";

/** Amazon Bedrock's Converse API, for every model behind it. */
export const bedrock: Provider = {
  kind: "bedrock",
  chat: {
    supportedParams: PROVIDER_PARAMS.bedrock.chat,
    framing: "aws-event-stream",
    takesBlocks: (model) => bedrockRules(model).reasoning === "claude",
    buildRequest: buildBedrockRequest,
    readAnswer: readBedrockAnswer,
    readStream: readBedrockStream,
  },
  readError: readUpstreamError,
  remoteCount: bedrockCount,
};
