import type { Worker } from "../../../stored/records/worker.ts";
import type { EmbedDeps } from "../../../stored/vector-stores/embed.ts";
import type { StoredDeps } from "../../../stored/vector-stores/stored-files.ts";

/** The dependencies of the vector stores' operations. */
export interface VectorStoresDeps extends StoredDeps, EmbedDeps {
  readonly worker: Pick<Worker, "wake">;
  readonly bodyBytesMax: number;
}
