import type { Manifest } from "../../common/trained-manifest.ts";
import type { Prediction } from "../compute/tasks/task.ts";

/** What a thread is asked for a model that is served. */
export type ServeRequest =
  | { readonly type: "predict"; readonly id: string; readonly manifest: Manifest; readonly texts: readonly string[] }
  | {
      readonly type: "write";
      readonly id: string;
      readonly manifest: Manifest;
      /** The end of what is written so far. */
      readonly tail: Uint8Array;
      /** How many bytes the model has written of this answer: chance goes on where it was, whoever writes the next piece. */
      readonly position: number;
      readonly count: number;
      readonly sampling: Sampling;
    };

export interface Sampling {
  /** 0: always the likeliest. */
  readonly temperature: number;
  /** Only the likeliest bytes that make up this much together. */
  readonly topP: number;
  readonly seed: number;
}

export type PredictAnswer = readonly Prediction[];

export interface WriteAnswer {
  readonly bytes: readonly number[];
  /** The model said that the text ends here. */
  readonly ended: boolean;
}
