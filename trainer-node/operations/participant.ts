import type { Residuals } from "../blobs/residuals.ts";
import { decodeParameters, type Format } from "../codec/parameters.ts";
import { splitControls } from "../compute/control-variates.ts";
import type { RowsData } from "../compute/datasets/rows.ts";
import { findTask } from "../compute/tasks/registry.ts";
import type { Learner } from "../compute/tasks/task.ts";
import { TrainerError } from "../errors.ts";
import type { TenantParameters } from "../functions/served-parameters.ts";
import type { OpenRecords } from "../records/client-records.ts";
import { sha256 } from "./answer.ts";
import type { ClientIntake } from "./client-intake.ts";
import type { NodeData } from "./dataset.ts";
import type { ParticipantRequest } from "./schemas.ts";

/** The first progress of a call: its request is valid, and the work begins. */
export const STARTED = { started: true };

/** What a worker thread provides to an operation. */
export interface OperationContext {
  readonly data: NodeData;
  /** Seed for calls that name none. Workers have no source of randomness. */
  readonly seed: number;
  readonly monotonicMs: () => number;
  readonly onProgress: (progress: object) => void;
  /** Reads a stored blob by its hash. */
  readonly readBlob: (digest: string) => Uint8Array<ArrayBuffer>;
  readonly records: OpenRecords;
  readonly intake: ClientIntake;
  /** Whether the node itself runs operations without a registered function. */
  readonly builtins: boolean;
  /** Aborts when the caller no longer needs the work. Only registered functions that wait for something can observe it. */
  readonly signal: AbortSignal;
  readonly closedRounds: ReadonlySet<string>;
  /** The secret key of this call's noise: with it, the noise could be removed again. */
  readonly noiseKey: Uint8Array;
  /** What compressed updates of the caller's clients have not sent yet. */
  readonly residuals: Residuals;
  /** Parameters of published models that the caller sent to this thread. */
  readonly served: TenantParameters;
}

/** The model that a train or evaluate call starts from: the parameters as sent, or a new model for the data. */
export function startingModel(
  request: ParticipantRequest,
  data: RowsData,
  context: Pick<OperationContext, "readBlob"> & { seed: number },
): { learner: Learner; format: Format; controls: Pick<ReturnType<typeof splitControls>, "controls" | "own"> } {
  const task = findTask(request.config.task);
  const bytes =
    request.parameters ?? (request.parameters_ref ? context.readBlob(request.parameters_ref.slice("sha256:".length)) : undefined);
  refuseOtherBase(request.base_hash, bytes);
  const sent = bytes && decodeParameters(bytes);
  const format = sent?.format ?? request.format ?? "msgpack";
  // SCAFFOLD's parameters are a model with control variates beside it.
  const { model, ...controls } = splitControls(sent?.tensors ?? []);
  const tensors = sent && model;
  const learner = task.open({ tensors, data, options: request.config, single: format === "npy", seed: context.seed });
  return { learner, format, controls };
}

/** Refuses parameters that do not match the caller's `base_hash`. Missing parameters have no hash. */
export function refuseOtherBase(expected: string | null | undefined, bytes: Uint8Array | undefined): void {
  if (!expected) return;
  const actual = bytes ? sha256([bytes]) : null;
  if (actual !== expected.toLowerCase()) {
    throw new TrainerError("BASE_MISMATCH", "base_hash is not the SHA-256 of the parameters in the request", {
      details: { expected, actual },
    });
  }
}
