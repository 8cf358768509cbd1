import type { RequestHandler } from "express";
import { toJson } from "../../../../common/json.ts";
import { moderationsJob } from "../../../calls/inference/jobs/moderations.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import { parseModerationsRequest } from "../../../schemas/calls/moderations.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS, readCall } from "./answer-call.ts";

/** POST moderations. */
export function moderationsHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body } = await readCall(deps, request);
    const asked = parseModerationsRequest(body);
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/moderations",
      caller: callerOf(response),
      job: moderationsJob(asked),
      routing: routingOf(asked),
      format: { whole: (answer, { model }) => toJson({ ...answer, model }) },
      rawBody,
      pathModel: undefined,
      errors: GATEWAY_ERRORS,
    });
  };
}
