import { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import type { Inference } from "../../../calls/create.ts";
import { chatFields, toChatRequest } from "../../../calls/dialects/responses/request.ts";
import { suffixOf } from "../../../calls/dialects/responses/response.ts";
import { parseResponsesRequest, type ResponsesRequest, responsesRequest } from "../../../schemas/calls/responses.ts";
import { hasPrompt, promptedResponse } from "../../../stored/prompts/apply-prompt.ts";
import { itemsWithFiles, readTurn } from "../../../stored/responses/response-turn.ts";
import type { ChatMessage } from "../../../upstream/providers/provider.ts";
import { failure, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import { clientLeft } from "./client-left.ts";
import { countChat, countedDeployment } from "./count-chat.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

export interface CountResponseDeps extends ResponsesDeps {
  readonly inference: ResponsesDeps["inference"] & Pick<Inference, "countRemotely" | "countFreely">;
}

const TAG = "responses";
const inputTokens = z.object({ object: z.literal("response.input_tokens"), input_tokens: z.int() });

/** What the Responses API does without a response. Before its other operations, where these paths would match as ids. */
export function countResponseOperations(deps: CountResponseDeps): GatewayOperation[] {
  const shared = { method: "post", tag: TAG, bodyBytesMax: deps.bodyBytesMax, once: deps.once } as const;
  return [
    jsonOperation({
      ...shared,
      paths: twice("responses/input_tokens"),
      summary: "Count the input tokens of a response",
      // A prompt may name the model.
      body: responsesRequest.partial({ model: true }),
      answer: inputTokens,
      handle: async ({ body, caller, response }) => {
        const { body: given, messages: before } = hasPrompt(body) ? await promptedResponse(deps, caller, body) : { body, messages: [] };
        const asked = parseResponsesRequest(given);
        const deployment = countedDeployment(deps.inference, caller, asked.model);
        const suffix = suffixOf(String(response.locals["callId"]));
        const items = await itemsWithFiles(deps, caller, await readTurn(deps, { asked, caller, suffix, messages: before }));
        const { tools: _tools, tool_choice: _choice, ...rest } = asked;
        const messages = toChatRequest(rest, items).messages as readonly ChatMessage[];
        const signal = clientLeft(response, deps.openCalls);
        const tokens = await countChat(deps.inference, { deployment, messages, tools: countedTools(asked), signal, keyId: caller.keyId });
        return { object: "response.input_tokens", input_tokens: tokens };
      },
    }),
    { method: "post", paths: twice("responses/compact"), handler: refuseCompaction, description: COMPACTION },
  ];
}

function refuseCompaction(): never {
  const message = "This gateway does not compact conversations. Send the items that the model shall read, or use truncation.";
  throw new AppError("INVALID_REQUEST", message);
}

const COMPACTION: GatewayOperation["description"] = {
  summary: "Not supported: conversations are not compacted",
  tags: [TAG],
  responses: { 400: failure("The gateway does not compact conversations."), 401: failure("No valid API key.") },
};

/** Functions as chat has them; other tools are counted as they are. */
function countedTools(asked: ResponsesRequest): readonly unknown[] | undefined {
  const { tools } = asked;
  return tools?.every(({ type }) => type === "function") ? (chatFields(asked)["tools"] as readonly unknown[] | undefined) : tools;
}
