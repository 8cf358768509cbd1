import { decodeParameters, type Format } from "../codec/parameters.ts";
import { splitControls } from "../compute/control-variates.ts";
import type { RowsData } from "../compute/datasets/rows.ts";
import { findTask } from "../compute/tasks/registry.ts";
import type { Learner } from "../compute/tasks/task.ts";
import type { Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import type { OpenRecords } from "../records/client-records.ts";
import { sha256 } from "./answer.ts";
import type { ClientIntake } from "./client-intake.ts";
import type { NodeData } from "./dataset.ts";
import type { ParticipantRequest } from "./schemas.ts";

/** What a worker lends to an operation. */
export interface OperationContext {
  readonly data: NodeData;
  /** For a caller who named none; chance is not made in workers. */
  readonly seed: number;
  readonly monotonicMs: () => number;
  readonly onProgress: (progress: object) => void;
  /** Bytes that were put here before, by their hash. */
  readonly readBlob: (digest: string) => Uint8Array<ArrayBuffer>;
  readonly records: OpenRecords;
  readonly intake: ClientIntake;
  /** Whether what nobody registered is done by the node itself. */
  readonly builtins: boolean;
  /** Aborts when the work is wanted no more; only registered functions that wait for something can see it. */
  readonly signal: AbortSignal;
  readonly closedRounds: ReadonlySet<string>;
  /** What the noise of this call is made from. Nobody else knows it, for whoever does can take the noise away again. */
  readonly noiseKey: Uint8Array;
}

/** The model a train or evaluate call starts from: the one sent, or a fresh one of the data's size. */
export function startingModel(
  request: ParticipantRequest,
  data: RowsData,
  context: Pick<OperationContext, "readBlob"> & { seed: number },
): { learner: Learner; format: Format; controls: readonly Tensor[] } {
  const task = findTask(request.config.task);
  const bytes =
    request.parameters ?? (request.parameters_ref ? context.readBlob(request.parameters_ref.slice("sha256:".length)) : undefined);
  refuseOtherBase(request.base_hash, bytes);
  const sent = bytes && decodeParameters(bytes);
  const format = sent?.format ?? request.format ?? "msgpack";
  // Parameters that SCAFFOLD has made are a model with something beside it.
  const { model, controls } = splitControls(sent?.tensors ?? []);
  const tensors = sent && model;
  const learner = task.open({ tensors, data, options: request.config, single: format === "npy", seed: context.seed });
  return { learner, format, controls };
}

/** A caller who says what it believes to build on is told when that is not what it sent; no parameters have no hash. */
export function refuseOtherBase(expected: string | null | undefined, bytes: Uint8Array | undefined): void {
  if (!expected) return;
  const actual = bytes ? sha256([bytes]) : null;
  if (actual !== expected.toLowerCase()) {
    throw new TrainerError("BASE_MISMATCH", "base_hash is not the sha-256 of the parameters sent", { details: { expected, actual } });
  }
}
