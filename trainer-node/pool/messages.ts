import type { Dataset } from "../compute/datasets/dataset.ts";
import type { ProblemDetails } from "../compute/problem.ts";
import type { ErrorKind } from "../errors.ts";

export const OPERATION_NAMES = ["train", "evaluate", "aggregate"] as const;
export type Operation = (typeof OPERATION_NAMES)[number];

/** What crosses into a worker thread. Bodies are moved, not copied: the sender's view is empty afterwards. */
export type ComputeTask =
  | { readonly type: "warm-up" }
  | {
      readonly type: "call";
      readonly operation: Operation;
      readonly body: Uint8Array<ArrayBuffer>;
      /** For a caller who named none; chance is not made in workers. */
      readonly seed: number;
    };

/** What comes back. A failure is data, not an exception: error classes do not survive the way between threads. */
export type ComputeResult =
  | { readonly type: "done"; readonly body: Uint8Array<ArrayBuffer> }
  | {
      readonly type: "failed";
      readonly kind: ErrorKind;
      readonly message: string;
      readonly details: ProblemDetails | undefined;
      readonly internal: string | undefined;
    };

/** What a worker is born with. */
export interface WorkerData {
  /** The default data set, in shared memory: one copy for all threads. */
  readonly fallback: Dataset | undefined;
}
