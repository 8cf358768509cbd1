import type { RequestHandler } from "express";
import { toJson } from "../../../../common/json.ts";
import type { ResponseFormat } from "../../../calls/formats/response-format.ts";
import { rerankJob } from "../../../calls/inference/jobs/rerank.ts";
import { routingOf } from "../../../calls/inference/route-request.ts";
import { inputTokens } from "../../../credit/pricing/usage.ts";
import { parseRerankRequest, type RerankRequest } from "../../../schemas/calls/rerank.ts";
import type { RerankAnswer } from "../../../upstream/providers/provider.ts";
import type { CallDeps } from "./answer-call.ts";
import { callHandler } from "./call-handler.ts";

/** POST rerank, in Cohere's format. */
export function rerankHandler(deps: CallDeps): RequestHandler {
  return callHandler(deps, "/v1/rerank", ({ body }) => {
    const asked = parseRerankRequest(body);
    return { job: rerankJob(asked), routing: routingOf(asked), format: rerankFormat(asked) };
  });
}

function rerankFormat({ documents, return_documents: withDocuments }: RerankRequest): ResponseFormat<RerankAnswer> {
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
