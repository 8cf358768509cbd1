import { toJson } from "../../../common/json.ts";
import type { parseEmbeddingsRequest } from "../../schemas/calls/embeddings.ts";
import type { EmbeddingsAnswer } from "../../upstream/providers/provider.ts";
import { embeddingsJob } from "../inference/jobs/embeddings.ts";
import { routingOf } from "../inference/route-request.ts";
import type { ResponseFormat } from "./response-format.ts";

/** The job of a request and the format of its answer, for a single call and for a line of a batch. */
export function embeddingsExchange(asked: ReturnType<typeof parseEmbeddingsRequest>) {
  const format = embeddingsFormat(asked.request.encoding_format === "base64");
  return { job: embeddingsJob(asked), routing: routingOf(asked.request), format };
}

function embeddingsFormat(asBase64: boolean): ResponseFormat<EmbeddingsAnswer> {
  return {
    whole: ({ vectors }, { model, bill }) => {
      const data = vectors.map((vector, index) => ({ object: "embedding", index, embedding: asBase64 ? toBase64(vector) : vector }));
      const tokens = bill.usage.input + bill.usage.cachedInput + bill.usage.cacheWrite;
      return toJson({ object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
    },
  };
}

/** Little-endian float32: the official clients read it so on every machine. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  vector.forEach((value, index) => void bytes.writeFloatLE(value, index * 4));
  return bytes.toString("base64");
}
