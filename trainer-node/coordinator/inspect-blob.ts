import { type FileHandle, open } from "node:fs/promises";
import { openTensorFile } from "../blobs/tensor-file.ts";
import type { PlacedTensor } from "../codec/safetensors.ts";
import { InputProblem } from "../compute/problem.ts";
import { ELEMENT_BYTES, firstNonFinite, isFloatType, tensorFromBytes } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import type { BlobFolder } from "./blob-folder.ts";
import { inspectUpdate, type Layout, layoutOf } from "./inspect-update.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/** Read at a time: many participants answer at once, and none of their updates shall be whole in memory for this. */
const STEP_BYTES = 2 ** 18;

/** What inspectUpdate says of a stored update, read a little at a time where its format allows it. */
export async function inspectBlob(blobs: BlobFolder, sha256: string): Promise<Layout> {
  const found = await blobs.find(sha256);
  if (!found) throw new Error(`the blob ${sha256} is not in the folder any more`);
  const tensors = readable(found.path);
  if (!tensors) return inspectUpdate(await blobs.read(sha256));
  const file = await open(found.path, "r");
  try {
    for (const tensor of tensors) if (isFloatType(tensor.dtype)) await refuseNonFinite(file, tensor);
  } finally {
    await file.close();
  }
  return layoutOf(tensors);
}

/** Undefined: of another format, or damaged; inspectUpdate says which. */
function readable(path: string): readonly PlacedTensor[] | undefined {
  try {
    return openTensorFile(path)?.tensors;
  } catch (thrown) {
    if (thrown instanceof InputProblem || thrown instanceof TrainerError) return undefined;
    throw thrown;
  }
}

async function refuseNonFinite(file: FileHandle, { name, dtype, start, end }: PlacedTensor): Promise<void> {
  const step = new Uint8Array(Math.min(STEP_BYTES, end - start));
  for (let at = start; at < end; ) {
    const wanted = Math.min(step.byteLength, end - at);
    const bytes = step.subarray(0, wanted);
    for (let done = 0; done < wanted; ) {
      const { bytesRead } = await file.read(bytes, done, wanted - done, at + done);
      if (bytesRead === 0) throw new Error("the blob ended too soon");
      done += bytesRead;
    }
    const { data } = tensorFromBytes({ name, dtype, shape: [wanted / ELEMENT_BYTES[dtype]] }, bytes);
    if (firstNonFinite(data as Float64Array) >= 0)
      throw new ParticipantProblem(`NON_FINITE: tensor "${name}" has a NaN or infinity`, { again: false });
    at += wanted;
  }
}
