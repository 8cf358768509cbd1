import { type FileHandle, open } from "node:fs/promises";
import { areFinite, unlessDamaged } from "../../blobs/passing-tensors.ts";
import { openTensorFile } from "../../blobs/tensor-file.ts";
import { formatOf, HEAD_BYTES, TORCH_PICKLE } from "../../codec/parameters.ts";
import type { PlacedTensor } from "../../codec/safetensors.ts";
import { isFloatType } from "../../compute/tensor.ts";
import { createTurns } from "../../pool/turns.ts";
import { giveBack } from "../../stream/give-back.ts";
import { type BlobFolder, requireBlob } from "../blobs/blob-folder.ts";
import { BlobTooLarge } from "../blobs/read-blob.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { inspectUpdate, type Layout, layoutOf, nonFinite, OPAQUE, UNSUPPORTED } from "./inspect-update.ts";

/** Where the bytes of blobs are. */
export type ReadableBlobs = Pick<BlobFolder, "find" | "read">;

/** Bytes read at a time: many updates arrive at once, and none of them may be in memory as a whole. */
const STEP_BYTES = 2 ** 18;

/** Updates that have to be read whole are inspected one after the other, because all of them share the memory of this process. */
const inTurn = createTurns();
const never = new AbortController().signal;

/** Inspects a stored update, piece by piece if its format allows it. */
export async function inspectBlob(blobs: ReadableBlobs, sha256: string): Promise<Layout> {
  const path = await pathOf(blobs, sha256);
  const tensors = readable(path);
  if (!tensors) return inspectWhole(blobs, sha256);
  const file = await open(path, "r");
  try {
    for (const tensor of tensors) if (isFloatType(tensor.dtype)) await inspectNumbers(file, tensor);
  } finally {
    await file.close();
  }
  return layoutOf(tensors);
}

/** The layout of a blob that was inspected before or made here, without checking its numbers again. */
export async function layoutOfBlob(blobs: ReadableBlobs, sha256: string): Promise<Layout> {
  const tensors = readable(await pathOf(blobs, sha256));
  return tensors ? layoutOf(tensors) : inspectWhole(blobs, sha256);
}

/** Inspects an update of another format than safetensors. Opaque ones are detected without reading them into memory. */
async function inspectWhole(blobs: ReadableBlobs, sha256: string): Promise<Layout> {
  if (await isOpaqueFile(await pathOf(blobs, sha256))) return OPAQUE;
  return inTurn(async () => {
    const bytes = await readUpdate(blobs, sha256);
    try {
      return inspectUpdate(bytes);
    } finally {
      giveBack(bytes);
    }
  }, never);
}

/** A whole update. One that is too large for that fails its participant and not the round. */
export async function readUpdate(blobs: Pick<BlobFolder, "read">, sha256: string): Promise<Buffer> {
  try {
    return await blobs.read(sha256);
  } catch (thrown) {
    if (!(thrown instanceof BlobTooLarge)) throw thrown;
    throw new ParticipantProblem(`${UNSUPPORTED}: its update cannot be read. ${thrown.message}`, { again: false, cause: thrown });
  }
}

/** Whether inspectUpdate would find these bytes opaque: a pickle, an archive of torch.save, or an unknown format. */
async function isOpaqueFile(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const head = new Uint8Array(Math.min(HEAD_BYTES, size));
    await fill(file, head, 0);
    const format = formatOf(head, size);
    if (format === "npz") return await contains(file, TORCH_PICKLE, size);
    return size > 0 && (format === "pickle" || format === undefined);
  } finally {
    await file.close();
  }
}

/** Each step but the first begins with the end of the one before it, so that a text at their border is found. */
async function contains(file: FileHandle, text: string, size: number): Promise<boolean> {
  const step = Buffer.alloc(Math.min(STEP_BYTES, size));
  const overlap = text.length - 1;
  for (let at = 0; ; at += step.byteLength - overlap) {
    const wanted = step.subarray(0, Math.min(step.byteLength, size - at));
    await fill(file, wanted, at);
    if (wanted.includes(text, 0, "latin1")) return true;
    if (at + wanted.byteLength >= size) return false;
  }
}

async function pathOf(blobs: ReadableBlobs, sha256: string): Promise<string> {
  return (await requireBlob(blobs.find, sha256)).path;
}

/** Undefined for a damaged file or another format; inspectUpdate reports which. */
const readable = (path: string): readonly PlacedTensor[] | undefined => unlessDamaged(() => openTensorFile(path)?.tensors);

async function inspectNumbers(file: FileHandle, tensor: PlacedTensor): Promise<void> {
  const { start, end } = tensor;
  const step = new Uint8Array(Math.min(STEP_BYTES, end - start));
  for (let at = start; at < end; ) {
    const wanted = Math.min(step.byteLength, end - at);
    await fill(file, step.subarray(0, wanted), at);
    if (!areFinite(tensor, step.subarray(0, wanted))) throw nonFinite(tensor.name);
    at += wanted;
  }
}

async function fill(file: FileHandle, target: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < target.byteLength; ) {
    const { bytesRead } = await file.read(target, done, target.byteLength - done, at + done);
    if (bytesRead === 0) throw new Error("the blob is shorter than expected");
    done += bytesRead;
  }
}
