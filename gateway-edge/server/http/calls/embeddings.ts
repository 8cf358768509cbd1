import type { RequestHandler } from "express";
import { embeddingsExchange } from "../../../calls/formats/embeddings.ts";
import { parseEmbeddingsRequest } from "../../../schemas/calls/embeddings.ts";
import { callerOf } from "../../middleware/authenticate-key.ts";
import { answerCall, type CallDeps, GATEWAY_ERRORS, readCall } from "./answer-call.ts";

/** POST embeddings, on each of its paths. */
export function embeddingsHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body, pathModel } = await readCall(deps, request);
    const asked = parseEmbeddingsRequest(body, pathModel);
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/embeddings",
      caller: callerOf(response),
      ...embeddingsExchange(asked),
      rawBody,
      pathModel,
      errors: GATEWAY_ERRORS,
    });
  };
}
