import { type FileHandle, open } from "node:fs/promises";
import { areFinite, unlessDamaged } from "../../blobs/passing-tensors.ts";
import { openTensorFile } from "../../blobs/tensor-file.ts";
import type { PlacedTensor } from "../../codec/safetensors.ts";
import { isFloatType } from "../../compute/tensor.ts";
import { type BlobFolder, requireBlob } from "../blobs/blob-folder.ts";
import { inspectUpdate, type Layout, layoutOf, nonFinite } from "./inspect-update.ts";

/** Bytes read at a time: many updates arrive at once, and none of them may be in memory as a whole. */
const STEP_BYTES = 2 ** 18;

/** Inspects a stored update, piece by piece if its format allows it. */
export async function inspectBlob(blobs: BlobFolder, sha256: string): Promise<Layout> {
  const path = await pathOf(blobs, sha256);
  const tensors = readable(path);
  if (!tensors) return inspectUpdate(await blobs.read(sha256));
  const file = await open(path, "r");
  try {
    for (const tensor of tensors) if (isFloatType(tensor.dtype)) await inspectNumbers(file, tensor);
  } finally {
    await file.close();
  }
  return layoutOf(tensors);
}

/** The layout of a blob that was inspected before or made here, without checking its numbers again. */
export async function layoutOfBlob(blobs: BlobFolder, sha256: string): Promise<Layout> {
  const tensors = readable(await pathOf(blobs, sha256));
  return tensors ? layoutOf(tensors) : inspectUpdate(await blobs.read(sha256));
}

async function pathOf(blobs: BlobFolder, sha256: string): Promise<string> {
  return (await requireBlob(blobs.find, sha256)).path;
}

/** Undefined for a damaged file or another format; inspectUpdate reports which. */
const readable = (path: string): readonly PlacedTensor[] | undefined => unlessDamaged(() => openTensorFile(path)?.tensors);

async function inspectNumbers(file: FileHandle, tensor: PlacedTensor): Promise<void> {
  const { start, end } = tensor;
  const step = new Uint8Array(Math.min(STEP_BYTES, end - start));
  for (let at = start; at < end; ) {
    const wanted = Math.min(step.byteLength, end - at);
    for (let done = 0; done < wanted; ) {
      const { bytesRead } = await file.read(step, done, wanted - done, at + done);
      if (bytesRead === 0) throw new Error("the blob is shorter than expected");
      done += bytesRead;
    }
    if (!areFinite(tensor, step.subarray(0, wanted))) throw nonFinite(tensor.name);
    at += wanted;
  }
}
