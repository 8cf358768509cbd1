import type { CreateDeps } from "../../../stored/vector-stores/create-store.ts";
import type { EmbedDeps } from "../../../stored/vector-stores/embed.ts";
import type { AnswerOnce } from "../calls/answer-once.ts";

/** The dependencies of the vector stores' operations. */
export interface VectorStoresDeps extends CreateDeps, EmbedDeps {
  readonly bodyBytesMax: number;
  readonly once: AnswerOnce;
}
