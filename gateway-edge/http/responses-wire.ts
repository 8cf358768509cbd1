import { toJson } from "../../common/json.ts";
import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import { type FrameOptions, ResponseFrames } from "../dialects/responses/frames.ts";
import { ItemNames, passedResponse } from "../dialects/responses/passed.ts";
import { isPassed, PassedFrames } from "../dialects/responses/passed-frames.ts";
import { type ResponseIdentity, responseUsage, shownResponse, suffixOf, wholeResponse } from "../dialects/responses/response.ts";
import type { Bill } from "../inference/bill.ts";
import type { ResponsesAnswer } from "../inference/jobs/responses.ts";
import type { Fields } from "../providers/provider.ts";
import { ownerOf } from "../records/own-record.ts";
import type { ResponsesRequest } from "../schemas/responses.ts";
import type { CallDeps, StreamWire, Wire, WireContext } from "./answer-call.ts";
import { keepResponse, type StoredResponsesDeps } from "./stored-responses.ts";

interface Answering {
  readonly asked: ResponsesRequest;
  readonly caller: Caller;
  readonly input: readonly Fields[];
}

/** Answers of any model as responses, kept before the caller sees their end. */
export function responsesWire(deps: CallDeps & StoredResponsesDeps, { asked, caller, input }: Answering): Wire<ResponsesAnswer> {
  const include = asked.include ?? [];
  const isKept = asked.store !== false;
  const keep = async (response: Fields) =>
    isKept ? await keepResponse(deps, ownerOf(caller), { response, input, nowMs: deps.clock.now() }) : response;
  return {
    whole: async (answer, context) => toJson(shownResponse(await keep(answered(answer, identityOf(context, asked), context)), include)),
    stream: (context) => streamWire(identityOf(context, asked), { include, keep, now: () => deps.clock.now() }),
  };
}

function answered(answer: ResponsesAnswer, identity: ResponseIdentity, context: { bill: Bill; nowMs: number }): Fields {
  if (!("response" in answer)) return wholeResponse(identity, answer, context);
  const { response } = answer;
  const usage = response["usage"] ?? responseUsage(context.bill.usage);
  return passedResponse(identity, { ...response, usage }, new ItemNames(identity.suffix));
}

/** Whose events they are is known with the first part. */
function streamWire(identity: ResponseIdentity, options: FrameOptions): StreamWire {
  let chosen: ResponseFrames | PassedFrames | undefined;
  const framesFor = (isOfProvider: boolean) => {
    chosen ??= isOfProvider ? new PassedFrames(identity, options) : new ResponseFrames(identity, options);
    return chosen;
  };
  return {
    frames: (part) => framesFor(isPassed(part)).frames(part),
    last: (bill) => framesFor(false).last(bill),
    end: "",
    failed: (error) => framesFor(false).failed(error),
  };
}

function identityOf({ callId, nowMs, model }: WireContext, request: ResponsesRequest): ResponseIdentity {
  return { suffix: suffixOf(callId), createdSeconds: Math.floor(nowMs / 1000), model, request };
}
