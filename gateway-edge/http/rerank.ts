import type { RequestHandler } from "express";
import { toJson } from "../../common/json.ts";
import { rerankJob } from "../inference/jobs/rerank.ts";
import { inputTokens } from "../inference/usage.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import type { RerankAnswer } from "../providers/provider.ts";
import { parseRerankRequest, type RerankRequest } from "../schemas/rerank.ts";
import { answerCall, type CallDeps, GATEWAY_WORDING, readCall, routingOf, type Wire } from "./answer-call.ts";

/** POST rerank, as Cohere has it. */
export function rerankHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body } = await readCall(deps, request);
    const asked = parseRerankRequest(body);
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/rerank",
      caller: callerOf(response),
      job: rerankJob(asked),
      routing: routingOf(asked),
      wire: rerankWire(asked),
      rawBody,
      pathModel: undefined,
      errors: GATEWAY_WORDING,
    });
  };
}

function rerankWire({ documents, return_documents: withDocuments }: RerankRequest): Wire<RerankAnswer> {
  const shown = (index: number) => {
    const document = documents[index];
    return typeof document === "string" ? { text: document } : document;
  };
  return {
    whole: ({ id, results }, { callId, bill }) =>
      toJson({
        id: id ?? callId,
        results: results.map(({ index, score }) => ({
          index,
          relevance_score: score,
          ...(withDocuments === true ? { document: shown(index) } : {}),
        })),
        meta: {
          api_version: { version: "2" },
          billed_units: { search_units: bill.usage.amounts?.search?.input ?? 1 },
          tokens: { input_tokens: inputTokens(bill.usage), output_tokens: 0 },
        },
      }),
  };
}
