import { embeddingsExchange } from "../../../calls/formats/embeddings.ts";
import { parseEmbeddingsRequest } from "../../../schemas/calls/embeddings.ts";
import type { CallRoute } from "../gate.ts";
import type { CallDeps } from "./answer-call.ts";
import { callHandler } from "./call-handler.ts";

/** POST embeddings, on each of its paths. */
export function embeddingsHandler(deps: CallDeps): CallRoute["handler"] {
  return callHandler(deps, "/v1/embeddings", ({ body, pathModel }) => embeddingsExchange(parseEmbeddingsRequest(body, pathModel)));
}
