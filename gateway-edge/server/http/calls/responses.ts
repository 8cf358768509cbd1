import { z } from "zod";
import { abortSignalOf } from "../../../../common/cancel.ts";
import { AppError } from "../../../../common/errors.ts";
import { refuseUnsupported } from "../../../calls/dialects/responses/request.ts";
import { shownItem, shownResponse, suffixOf } from "../../../calls/dialects/responses/response.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import { parseResponsesRequest, responseObject, responsesRequest } from "../../../schemas/calls/responses.ts";
import { listAnswer, listQuery, placeIn, readPage } from "../../../schemas/object-list.ts";
import type { OperationDescription } from "../../../schemas/operation-description.ts";
import { hasPrompt, promptedResponse } from "../../../stored/prompts/apply-prompt.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import { cancelResponse } from "../../../stored/responses/background.ts";
import { hasEvents, requireEvents } from "../../../stored/responses/follow-response.ts";
import { responseCall } from "../../../stored/responses/response-call.ts";
import { removeEvents } from "../../../stored/responses/response-events.ts";
import { itemsWithFiles, readTurn } from "../../../stored/responses/response-turn.ts";
import { requireResponse, type StoredResponse } from "../../../stored/responses/stored-responses.ts";
import { hasGatewayTools } from "../../../stored/responses/tools/open-tools.ts";
import { takeClientParams } from "../../../upstream/client-params.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { describeGatewayOperations, type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import { answerCall, GATEWAY_ERRORS } from "./answer-call.ts";
import { queueResponse, RESPONSES_ENDPOINT, sendEvents } from "./background-response.ts";
import { clientLeft } from "./client-left.ts";
import { type CountResponseDeps, countResponseOperations } from "./count-response.ts";
import { readCall } from "./read-call.ts";
import type { ResponsesDeps } from "./responses-deps.ts";
import { responsesFormat } from "./responses-format.ts";

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
      summary: "Retrieve a stored response; the events of one that was created with `background` and `stream`, if `stream` is true",
      tag: TAG,
      query: includeQuery.extend({ stream: z.string().optional(), starting_after: eventNumber.optional() }),
      answer: responseObject,
      bodyBytesMax,
      handle: async ({ caller, param, query, response }) => {
        const id = param("response_id");
        const stored = await requireResponse(deps, caller, id);
        if (query.stream !== "true") return shownResponse(stored.response, included(query));
        requireEvents(stored);
        await sendEvents(deps, { response, caller, id, after: query.starting_after ?? -1, include: included(query) });
        return undefined;
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
        const stored = await requireResponse(deps, caller, id);
        if (hasEvents(stored)) await removeEvents(deps, ownerOf(caller), id);
        await deps.records.commit(ownerOf(caller), [{ type: "remove", kind: "response", id, withChildren: true }]);
        deps.worker.refresh(id);
        deps.feed.changed(id, "state");
        return { id, object: "response", deleted: true };
      },
    }),
    jsonOperation({
      method: "post",
      once: deps.once,
      paths: ONE.map((path) => `${path}/cancel`),
      summary: "Cancel a background response",
      tag: TAG,
      answer: responseObject,
      bodyBytesMax,
      handle: async ({ caller, param }) => {
        const id = param("response_id");
        const record = await requireRecord<StoredResponse>(deps, caller, { kind: "response", id });
        if (record.body.response["background"] !== true) {
          throw new AppError("INVALID_REQUEST", "Only a response that was created with background=true can be canceled.", {
            param: "response_id",
          });
        }
        const canceled = await cancelResponse(deps, caller, record);
        deps.worker.refresh(id);
        deps.feed.changed(id, "state");
        return shownResponse(canceled, []);
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
  return describeGatewayOperations([
    ...responsesOperations({ bodyBytesMax: 0 } as ResponsesDeps),
    ...countResponseOperations({ bodyBytesMax: 0 } as CountResponseDeps),
  ]);
}

const eventNumber = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number")
  .transform(Number);

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
  const start = after === undefined ? 0 : placeIn(ordered, after, { param: "after", what: "item" }) + 1;
  const end = before === undefined ? ordered.length : placeIn(ordered, before, { param: "before", what: "item" });
  const window = ordered.slice(start, end);
  const shown = before === undefined ? window.slice(0, limit) : window.slice(-limit);
  return listAnswer(shown, window.length > shown.length);
}

function createOperation(deps: ResponsesDeps): GatewayOperation {
  const described = jsonOperation({
    method: "post",
    // The call that it makes has its own.
    once: deps.once,
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
    makesCall: true,
    handler: async (request, response) => {
      const { rawBody, body: read } = await readCall(deps, request);
      const taken = deps.takesClientParams() ? takeClientParams(read) : undefined;
      const given = taken ? taken.rest : read;
      const callId = String(response.locals["callId"]);
      const caller = callerOf(response);
      const { body, messages } = hasPrompt(given) ? await promptedResponse(deps, caller, given) : { body: given, messages: [] };
      const asked = parseResponsesRequest(body);
      refuseUnsupported(asked);
      // Work in the background is stored, and a client's key never is.
      if (taken && asked.background === true) throw taken.params.refusal();
      if (asked.store !== false) deps.full.requireRoom(caller.organizationId);
      const turn = await readTurn(deps, { asked, caller, suffix: suffixOf(callId), messages });
      const items = await itemsWithFiles(deps, caller, turn);
      const signal = hasGatewayTools(asked) ? abortSignalOf(clientLeft(response, deps.openCalls)) : undefined;
      const { job, run } = await responseCall({ ...deps, mcp: deps.inference.mcp }, { asked, caller, items, signal });
      if (asked.background === true)
        return await queueResponse(deps, { request, response, callId, caller, asked, messages, rawBody, turn });
      // Safe: the job of this call is the one that `run` is for.
      await answerCall(
        { ...deps, run: run as unknown as ResponsesDeps["run"] },
        {
          request,
          response,
          callId,
          endpoint: RESPONSES_ENDPOINT,
          caller,
          job,
          routing: routingOf(asked, taken?.params),
          rawBody,
          pathModel: undefined,
          errors: GATEWAY_ERRORS,
          format: responsesFormat(deps, { asked, caller, input: turn.input }),
        },
      );
    },
  };
}
