import type { Manifest } from "../../common/training/trained-manifest.ts";
import type { Prediction } from "../compute/tasks/task.ts";
import type { TextRequest } from "./requests.ts";
import type { Ending } from "./write-text.ts";

/** A served model: of a built-in task, which the pool runs, or of a function of other nodes. */
export interface ServedModel {
  readonly manifest: Manifest;
  predict(texts: readonly string[]): Promise<readonly Prediction[]>;
  /** Generates one choice in pieces and returns how it ended. The input bytes are the same for every choice. */
  text(request: TextRequest, choice: { seed: number; signal: AbortSignal }): AsyncGenerator<string, Ending>;
  inputBytes(request: TextRequest): number;
}
