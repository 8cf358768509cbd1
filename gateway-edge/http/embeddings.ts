import type { RequestHandler } from "express";
import { toJson } from "../../common/json.ts";
import { embeddingsJob } from "../inference/jobs/embeddings.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import type { EmbeddingsAnswer } from "../providers/provider.ts";
import { parseEmbeddingsRequest } from "../schemas/embeddings.ts";
import { answerCall, type CallDeps, GATEWAY_WORDING, readCall, routingOf, type Wire } from "./answer-call.ts";

/** POST embeddings, in each of its spellings. */
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
      errors: GATEWAY_WORDING,
    });
  };
}

/** What a request asks for and how its answer is worded, at whatever door it came in. */
export function embeddingsExchange(asked: ReturnType<typeof parseEmbeddingsRequest>) {
  const wire = embeddingsWire(asked.request.encoding_format === "base64");
  return { job: embeddingsJob(asked), routing: routingOf(asked.request), wire };
}

function embeddingsWire(asBase64: boolean): Wire<EmbeddingsAnswer> {
  return {
    whole: ({ vectors }, { model, bill }) => {
      const data = vectors.map((vector, index) => ({ object: "embedding", index, embedding: asBase64 ? toBase64(vector) : vector }));
      const tokens = bill.usage.input + bill.usage.cachedInput + bill.usage.cacheWrite;
      return toJson({ object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
    },
  };
}

/** Little-endian float32, as the official clients read it whatever machine they run on. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  vector.forEach((value, index) => void bytes.writeFloatLE(value, index * 4));
  return bytes.toString("base64");
}
