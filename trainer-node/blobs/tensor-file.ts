import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { looksLikeSafetensors, type PlacedTensor, safetensorsHeadBytes, safetensorsLayout } from "../codec/safetensors.ts";
import { ELEMENT_BYTES, elementCount } from "../compute/tensor.ts";

/**
 * A safetensors file whose elements stay on disk until they are read. The file is not held open, because there may be thousands of them.
 */
export interface TensorFile {
  readonly tensors: readonly PlacedTensor[];
  /** Opens the file while `work` runs. */
  open<Result>(work: (read: ReadBytes, fileBytes: number) => Result): Result;
}

/** Fills the target from a position of the file. */
export type ReadBytes = (position: number, target: Uint8Array) => void;

const FIRST_BYTES = 9;

/** Undefined for a file of another format. Throws InputProblem for a damaged file. */
export function openTensorFile(path: string): TensorFile | undefined {
  const open: TensorFile["open"] = (work) => {
    const file = openSync(path, "r");
    try {
      return work((position, target) => readInto(file, position, target), fstatSync(file).size);
    } finally {
      closeSync(file);
    }
  };
  const tensors = open(findTensors);
  return tensors && { tensors, open };
}

/** Finds the tensors of a file by its first bytes and its size. Undefined for another format; throws InputProblem for a damaged file. */
export function findTensors(read: ReadBytes, fileBytes: number): readonly PlacedTensor[] | undefined {
  if (fileBytes < FIRST_BYTES) return undefined;
  const first = new Uint8Array(FIRST_BYTES);
  read(0, first);
  if (!looksLikeSafetensors(first, fileBytes)) return undefined;
  const head = new Uint8Array(safetensorsHeadBytes(first));
  read(0, head);
  const tensors = safetensorsLayout(head, fileBytes);
  return tensors.every(isWhole) ? tensors : undefined;
}

function isWhole({ name, dtype, shape, start, end }: PlacedTensor): boolean {
  return elementCount(shape, name) * ELEMENT_BYTES[dtype] === end - start;
}

/** Fills the target from a position of an open file. */
export function readInto(file: number, position: number, target: Uint8Array): void {
  for (let done = 0; done < target.byteLength; ) {
    const read = readSync(file, target, done, target.byteLength - done, position + done);
    if (read === 0) throw new Error("the blob is shorter than expected");
    done += read;
  }
}
