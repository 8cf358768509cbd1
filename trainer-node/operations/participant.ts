import { createHash } from "node:crypto";
import { decodeBase64 } from "../codec/base64.ts";
import { decodeParameters, type Format } from "../codec/parameters.ts";
import type { Dataset } from "../compute/datasets/dataset.ts";
import { initialModel, readModel, type SoftmaxModel } from "../compute/tasks/softmax-model.ts";
import { TrainerError } from "../errors.ts";
import type { NodeData } from "./dataset.ts";
import type { ParticipantRequest } from "./schemas.ts";

/** What a worker lends to an operation: its data, a seed for callers who gave none, and a clock. */
export interface OperationContext {
  readonly data: NodeData;
  readonly seed: number;
  readonly monotonicMs: () => number;
}

/** The model a train or evaluate call starts from: the one sent, or a fresh one of the data's size. */
export function startingModel(request: ParticipantRequest, dataset: Dataset, seed: number): { model: SoftmaxModel; format: Format } {
  if (!request.parameters) {
    refuseOtherBase(request.base_hash, undefined);
    const format = request.format ?? "msgpack";
    const layout = format === "npy" ? "stacked" : "named";
    return { model: initialModel({ columns: dataset.columns, classes: dataset.classes, layout, seed }), format };
  }
  const bytes = decodeBase64(request.parameters, "parameters");
  refuseOtherBase(request.base_hash, bytes);
  const { format, tensors } = decodeParameters(bytes);
  return { model: readModel(tensors), format };
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A caller who says what it believes to build on is told when that is not what it sent; no parameters have no hash. */
function refuseOtherBase(expected: string | null | undefined, bytes: Uint8Array | undefined): void {
  if (!expected) return;
  const actual = bytes ? sha256(bytes) : null;
  if (actual !== expected.toLowerCase()) {
    throw new TrainerError("BASE_MISMATCH", "base_hash is not the sha-256 of the parameters sent", { details: { expected, actual } });
  }
}
