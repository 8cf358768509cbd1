import type { Manifest } from "../../common/training/trained-manifest.ts";
import type { Prediction } from "../compute/tasks/task.ts";

/** A task for a served model. */
export type ServeRequest =
  | { readonly type: "predict"; readonly id: string; readonly manifest: Manifest; readonly texts: readonly string[] }
  | {
      readonly type: "write";
      readonly id: string;
      readonly manifest: Manifest;
      /** The last bytes of the text so far. */
      readonly tail: Uint8Array;
      /** Number of bytes of this answer so far: sampling continues in any thread as if it were the same one. */
      readonly position: number;
      readonly count: number;
      readonly sampling: Sampling;
    };

/** The sampling settings of a request. */
export interface Sampling {
  /** 0 selects the likeliest byte. */
  readonly temperature: number;
  /** Only the likeliest bytes that together reach this probability. */
  readonly topP: number;
  readonly seed: number;
}

/** The answer to a predict task. */
export type PredictAnswer = readonly Prediction[];

/** The answer to a write task. */
export interface WriteAnswer {
  readonly bytes: readonly number[];
  /** Whether the model ended the text. */
  readonly ended: boolean;
}
