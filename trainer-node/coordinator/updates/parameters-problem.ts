import type { FederationSettings } from "../../../common/training/federation-settings.ts";
import type { DType, TensorHeader } from "../../compute/tensor.ts";
import { misfit } from "../../serving/misfit.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { inspectBlob, type ReadableBlobs } from "./inspect-blob.ts";
import { type Layout, OPAQUE, requireReadable, unreadable } from "./inspect-update.ts";

/** Why a federation with these settings cannot start from a blob; undefined if it can. */
export function initialProblem(
  blobs: ReadableBlobs,
  sha256: string,
  settings: Pick<FederationSettings, "dp" | "secureAggregation" | "strategy">,
): Promise<string | undefined> {
  return problemOf(blobs, sha256, (found) => requireReadable(found, settings));
}

/** Why a blob cannot be served as a model of a built-in task; undefined if it can. */
export function servingProblem(blobs: ReadableBlobs, sha256: string, task: string): Promise<string | undefined> {
  return problemOf(blobs, sha256, (found) => {
    if (found === OPAQUE) throw unreadable(`the task ${task}`);
    const problem = misfit(task, tensorsIn(found));
    if (problem) throw new ParticipantProblem(`${problem.kind}: ${problem.message}`, { again: false });
  });
}

/** The same words wherever stored parameters are refused: those that nobody can compute with have one problem, whatever they are for. */
async function problemOf(blobs: ReadableBlobs, sha256: string, require: (found: Layout) => void): Promise<string | undefined> {
  try {
    require(await inspectBlob(blobs, sha256));
    return undefined;
  } catch (thrown) {
    if (thrown instanceof ParticipantProblem) return thrown.message;
    throw thrown;
  }
}

function tensorsIn(layout: Layout): TensorHeader[] {
  const tensors = JSON.parse(layout) as [name: string, dtype: DType, shape: number[]][];
  return tensors.map(([name, dtype, shape]) => ({ name, dtype, shape }));
}
