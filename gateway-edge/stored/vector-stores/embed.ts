import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { NanoUsd } from "../../../common/money.ts";
import type { Random } from "../../../common/random.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Inference } from "../../calls/create.ts";
import { embeddingsExchange } from "../../calls/formats/embeddings.ts";
import { gatewayErrorStatus } from "../../calls/gateway-error.ts";
import { parseEmbeddingsRequest } from "../../schemas/calls/embeddings.ts";

export interface EmbedDeps {
  readonly inference: Pick<Inference, "run">;
  readonly clock: Clock;
  readonly random: Random;
}

/** Where the models of the gateway are found. */
export interface ModelDeps {
  readonly routing: Pick<Inference["routing"], "candidates" | "names">;
}

interface EmbedCall {
  readonly caller: Caller;
  readonly model: string;
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
  readonly onceFor?: string;
  /** Called with the cost of each billed call. */
  readonly onBill?: (cost: NanoUsd) => void;
}

/** Texts of one call. */
const AT_ONCE = 128;

/** Vectors of texts, made by calls of the caller's key like any others: limited, billed and in its log. */
export async function embed({ inference, clock, random }: EmbedDeps, call: EmbedCall): Promise<number[][]> {
  const { caller, model, texts, signal, onceFor } = call;
  const vectors: number[][] = [];
  for (let first = 0; first < texts.length; first += AT_ONCE) {
    const { job, routing } = embeddingsExchange(parseEmbeddingsRequest({ model, input: texts.slice(first, first + AT_ONCE) }));
    const result = await inference.run({
      ...{ callId: newId("call", { clock, random }), endpoint: "/v1/vector_stores", caller, job, routing, signal },
      ...(onceFor === undefined ? {} : { onceFor: `${onceFor}/${first}` }),
      errorStatus: gatewayErrorStatus,
    });
    if (result.type !== "answer") throw new Error("embeddings are answered whole");
    call.onBill?.(result.bill.cost);
    vectors.push(...result.answer.vectors.map((vector) => [...vector]));
  }
  return vectors;
}

/** The given model, or the first embedding model that the caller may use; the built-in provider's model where there is no other. */
export function embeddingModel({ routing }: ModelDeps, caller: Caller, given: string | null | undefined): string {
  const isEmbedding = (name: string) => routing.candidates(name, caller).some(({ model }) => model?.type === "embedding");
  const isBuiltIn = (name: string) => routing.candidates(name, caller).some(({ providerKind }) => providerKind === "echo");
  if (given) {
    if (isEmbedding(given) || isBuiltIn(given)) return given;
    const message = `${given.slice(0, 200)} is not an embedding model that this key can use.`;
    throw new AppError("INVALID_REQUEST", message, { param: "embedding_model" });
  }
  const names = routing.names(caller).filter((name) => !name.includes("*"));
  const found = names.find(isEmbedding) ?? names.find(isBuiltIn);
  if (found) return found;
  const message = "This key can use no embedding model. Add one to the gateway's models, or name one as embedding_model.";
  throw new AppError("INVALID_REQUEST", message, { param: "embedding_model" });
}
