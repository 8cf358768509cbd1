import { toJson } from "../../../../common/json.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { type ResponseIdentity, shownResponse, suffixOf } from "../../../calls/dialects/responses/response.ts";
import { responseStream } from "../../../calls/dialects/responses/stream-format.ts";
import type { FormatContext, ResponseFormat } from "../../../calls/formats/response-format.ts";
import type { ProxiedAnswer } from "../../../calls/inference/jobs/proxied.ts";
import type { ResponsesRequest } from "../../../schemas/calls/responses.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import { conversationIdOf } from "../../../stored/responses/conversations.ts";
import { keepResponse, type StoredResponsesDeps } from "../../../stored/responses/stored-responses.ts";
import { responseOf } from "../../../stored/responses/whole-response.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import type { CallDeps } from "./answer-call.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

interface AnsweredRequest {
  readonly asked: ResponsesRequest;
  readonly caller: Caller;
  readonly input: readonly Fields[];
}

/** Serializes answers of any model as responses, and stores them before the caller gets their end. */
export function responsesFormat(
  deps: CallDeps & Pick<ResponsesDeps, keyof StoredResponsesDeps | "full">,
  { asked, caller, input }: AnsweredRequest,
): ResponseFormat<ProxiedAnswer> {
  const include = asked.include ?? [];
  const isStored = asked.store !== false;
  const conversationId = conversationIdOf(asked);
  const store = (response: Fields) => keepResponse(deps, ownerOf(caller), { response, input, isStored, conversationId });
  return {
    whole: async (answer, context) => toJson(shownResponse(await store(responseOf(answer, identityOf(context, asked), context)), include)),
    stream: (context) => responseStream(identityOf(context, asked), { include, keep: store, now: () => deps.clock.now() }),
  };
}

function identityOf({ callId, nowMs, model }: FormatContext, request: ResponsesRequest): ResponseIdentity {
  return { suffix: suffixOf(callId), createdSeconds: Math.floor(nowMs / 1000), model, request };
}
