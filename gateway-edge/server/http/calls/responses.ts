import { z } from "zod";
import { AppError } from "../../../../common/errors.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../../calls/create.ts";
import { proxiedBody } from "../../../calls/dialects/responses/proxied.ts";
import { inputItems, refuseUnsupported, toChatRequest, toPlainChat } from "../../../calls/dialects/responses/request.ts";
import { shownItem, shownResponse, suffixOf } from "../../../calls/dialects/responses/response.ts";
import type { Job } from "../../../calls/inference/job.ts";
import { tagsOf } from "../../../calls/inference/jobs/gateway-fields.ts";
import { isSpokenByAny, type ProxiedAnswer } from "../../../calls/inference/jobs/proxied.ts";
import { responsesJob, responsesSpeaker } from "../../../calls/inference/jobs/responses.ts";
import { translatedChatJob } from "../../../calls/inference/jobs/translated-chat.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import { parseResponsesRequest, type ResponsesRequest, responseObject, responsesRequest } from "../../../schemas/calls/responses.ts";
import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { hasPrompt, promptedResponse } from "../../../stored/prompts/apply-prompt.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import type { ChatAnswer, Fields } from "../../../upstream/providers/provider.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { describeGatewayOperations, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS, readCall } from "./answer-call.ts";
import { responsesFormat } from "./responses-format.ts";
import { conversationUpTo, namedInput, requireResponse, resolveReferences, type StoredResponsesDeps } from "./stored-responses.ts";

/** The dependencies of the Responses API's operations. */
export interface ResponsesDeps extends CallDeps, StoredResponsesDeps {
  readonly inference: Pick<Inference, "routing" | "providers">;
}

const TAG = "responses";
const ONE = twice("responses/:response_id");

/** The Responses API for every chat model; stored responses belong to the caller's team. */
export function responsesOperations(deps: ResponsesDeps): GatewayOperation[] {
  const { bodyBytesMax } = deps;
  return [
    createOperation(deps),
    jsonOperation({
      method: "get",
      paths: ONE,
      summary: "Retrieve a stored response",
      tag: TAG,
      query: includeQuery.extend({ stream: z.string().optional() }),
      answer: responseObject,
      bodyBytesMax,
      handle: async ({ caller, param, query }) => {
        if (query.stream === "true") throw new AppError("INVALID_REQUEST", "A stored response cannot be streamed.", { param: "stream" });
        return shownResponse((await requireResponse(deps, caller, param("response_id"))).response, included(query));
      },
    }),
    jsonOperation({
      method: "delete",
      paths: ONE,
      summary: "Delete a stored response",
      tag: TAG,
      answer: z.object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) }),
      bodyBytesMax,
      handle: async ({ caller, param }) => {
        const id = param("response_id");
        await requireResponse(deps, caller, id);
        await deps.records.commit(ownerOf(caller), [{ type: "remove", kind: "response", id }]);
        return { id, object: "response", deleted: true };
      },
    }),
    jsonOperation({
      method: "post",
      paths: ONE.map((path) => `${path}/cancel`),
      summary: "Cancel a background response; always refused, because background responses are not supported",
      tag: TAG,
      answer: responseObject,
      bodyBytesMax,
      handle: async ({ caller, param }) => {
        await requireResponse(deps, caller, param("response_id"));
        throw new AppError("INVALID_REQUEST", "Only a response that was created with background=true can be canceled.", {
          param: "response_id",
        });
      },
    }),
    jsonOperation({
      method: "get",
      paths: ONE.map((path) => `${path}/input_items`),
      summary: "List the input items of a stored response",
      tag: TAG,
      query: listQuery.extend(includeQuery.shape),
      answer: z.looseObject({ object: z.literal("list"), data: z.array(z.looseObject({ id: z.string() })), has_more: z.boolean() }),
      bodyBytesMax,
      handle: async ({ caller, param, query }) => {
        const { input } = await requireResponse(deps, caller, param("response_id"));
        const items = input.map((item) => ({ ...shownItem(item, included(query)), id: String(item["id"]) }));
        return page(items, query);
      },
    }),
  ];
}

/** The operations for /openapi.json and /docs; their handlers are not called. */
export function describeResponses(): OperationDescription[] {
  return describeGatewayOperations(responsesOperations({ bodyBytesMax: 0 } as ResponsesDeps));
}

/** Official clients send lists in a query with brackets, other clients often without. */
const includeQuery = z.object({
  include: z.union([z.string(), z.array(z.string())]).optional(),
  "include[]": z.union([z.string(), z.array(z.string())]).optional(),
});

function included(query: z.output<typeof includeQuery>): readonly string[] {
  return [query.include ?? [], query["include[]"] ?? []].flat();
}

function page(items: readonly (Fields & { id: string })[], query: z.output<typeof listQuery>) {
  const { order, after, before, limit } = readPage(query);
  const ordered = order === "asc" ? items : items.toReversed();
  const at = (id: string) => ordered.findIndex((item) => item.id === id);
  const start = after === undefined ? 0 : at(after) + 1;
  const end = before === undefined || at(before) < 0 ? ordered.length : at(before);
  const window = ordered.slice(start, end);
  const shown = before === undefined ? window.slice(0, limit) : window.slice(-limit);
  return listAnswer(shown, window.length > shown.length);
}

function createOperation(deps: ResponsesDeps): GatewayOperation {
  const described = jsonOperation({
    method: "post",
    paths: twice("responses"),
    summary: "Create a response with any chat model; streamed if `stream` is true",
    tag: TAG,
    body: responsesRequest,
    answer: responseObject,
    bodyBytesMax: deps.bodyBytesMax,
    handle: async () => undefined,
  });
  return {
    ...described,
    handler: async (request, response) => {
      const { rawBody, body: given } = await readCall(deps, request);
      const callId = String(response.locals["callId"]);
      const caller = callerOf(response);
      const { body, messages } = hasPrompt(given) ? await promptedResponse(deps, caller, given) : { body: given, messages: [] };
      const asked = parseResponsesRequest(body);
      refuseUnsupported(asked);
      const turn = await readTurn(deps, { asked, caller, callId, messages });
      await answerCall(deps, {
        request,
        response,
        callId,
        endpoint: "/v1/responses",
        caller,
        job: jobOf(deps, { asked, caller, items: turn.items }),
        routing: routingOf(asked),
        rawBody,
        pathModel: undefined,
        errors: GATEWAY_ERRORS,
        format: responsesFormat(deps, { asked, caller, input: turn.input }),
      });
    },
  };
}

interface JobInput {
  readonly asked: ResponsesRequest;
  readonly caller: Caller;
  readonly items: readonly Fields[];
}

interface ConversationTurn {
  /** The whole conversation, after the messages of the prompt. */
  readonly items: readonly Fields[];
  /** The items that this request adds. */
  readonly input: readonly Fields[];
}

async function readTurn(
  deps: ResponsesDeps,
  { asked, caller, callId, messages }: { asked: ResponsesRequest; caller: Caller; callId: string; messages: readonly Fields[] },
): Promise<ConversationTurn> {
  const before = await conversationUpTo(deps, caller, asked.previous_response_id);
  const own = await resolveReferences(deps, caller, { items: inputItems(asked.input), before });
  const input = namedInput(own, suffixOf(callId));
  return { items: [...messages, ...before, ...input], input };
}

/** If a deployment's server speaks the Responses API, the request is passed through; otherwise it becomes a chat request. */
function jobOf({ inference: { routing, providers } }: ResponsesDeps, { asked, caller, items }: JobInput): Job<ProxiedAnswer> {
  const asChat = () => chatJobOf(asked, items);
  const isSpoken = isSpokenByAny(responsesSpeaker, providers, routing.candidates(asked.model, caller));
  // The cast is safe: a chat job only gets answers that it parsed itself.
  if (!isSpoken) return asChat() as unknown as Job<ProxiedAnswer>;
  return responsesJob({
    model: asked.model,
    stream: asked.stream === true,
    maxOutputTokens: asked.max_output_tokens,
    endUser: asked.user,
    tags: tagsOf(asked),
    request: asked,
    bodyFor: (given) => proxiedBody(asked, items, given),
    asChat,
  });
}

function chatJobOf(asked: ResponsesRequest, items: readonly Fields[]): Job<ChatAnswer> {
  return translatedChatJob({
    withBlocks: toChatRequest(asked, items),
    plain: toPlainChat,
    // Many clients send these default values.
    optional: asked.service_tier === "auto" || asked.service_tier === "default" ? ["service_tier"] : [],
    tags: tagsOf(asked),
    maxOutputParam: "max_output_tokens",
  });
}
