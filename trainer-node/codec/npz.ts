import { InputProblem } from "../compute/problem.ts";
import { TENSOR_LIMITS, type Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { decodeNpy, NPY_MAGIC, npyPieces } from "./npy.ts";
import { joinPieces } from "./pieces.ts";
import { listZip, readZipEntry, writeZip } from "./zip.ts";

const SUFFIX = ".npy";

/** Writes what numpy.savez writes: a zip of npy files, each named after its array. */
export function encodeNpz(tensors: readonly Tensor[]): Uint8Array<ArrayBuffer> {
  return writeZip(tensors.map((tensor) => ({ name: tensor.name + SUFFIX, content: joinPieces(npyPieces(tensor)) })));
}

/** Reads the arrays of an npz file. */
export function decodeNpz(bytes: Uint8Array): Tensor[] {
  const entries = listZip(bytes);
  const pickle = entries.find(({ name }) => name.endsWith(".pkl"));
  if (pickle) {
    throw new TrainerError(
      "UNSUPPORTED_PARAMETERS",
      "The parameters are a torch.save archive with a pickle inside, which this node never unpickles. Send safetensors.",
    );
  }
  if (entries.length > TENSOR_LIMITS.tensorsMax) damaged(`it has ${entries.length} entries; at most ${TENSOR_LIMITS.tensorsMax}`);
  const seen = new Set<string>();
  return entries.map((entry) => {
    if (!entry.name.endsWith(SUFFIX)) {
      throw new TrainerError(
        "UNSUPPORTED_PARAMETERS",
        `The parameters are a zip archive with "${entry.name.slice(0, 100)}", which is not an npy array.`,
      );
    }
    const name = entry.name.slice(0, -SUFFIX.length);
    if (Buffer.byteLength(name) > TENSOR_LIMITS.nameBytesMax || seen.has(name))
      damaged(`the name "${name.slice(0, 100)}" is too long or occurs twice`);
    seen.add(name);
    const content = readZipEntry(bytes, entry);
    if (!NPY_MAGIC.every((byte, index) => content[index] === byte)) damaged(`"${name.slice(0, 100)}" is not an npy array`);
    return { ...decodeNpy(content), name };
  });
}

function damaged(what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `the npz archive is damaged: ${what}`);
}
