import type { Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { decodeMsgpack, MSGPACK_MAGIC, msgpackPieces } from "./msgpack.ts";
import { decodeNpy, NPY_MAGIC, npyPieces } from "./npy.ts";
import { decodeNpz, encodeNpz } from "./npz.ts";
import { joinPieces } from "./pieces.ts";
import { decodeSafetensors, looksLikeSafetensors, safetensorsPieces } from "./safetensors.ts";
import { ZIP_MAGIC } from "./zip.ts";

/** The parameter formats that this node reads and writes. */
export const FORMATS = ["safetensors", "msgpack", "npz", "npy"] as const;
/** A parameter format. */
export type Format = (typeof FORMATS)[number];

const ADVICE = `Send safetensors or npy; this node reads ${FORMATS.join(", ")}.`;

/** Detects a format by its first bytes and reads the tensors. Pickles are detected to be refused, never read. */
export function decodeParameters(bytes: Uint8Array): { format: Format; tensors: Tensor[] } {
  if (startsWith(bytes, MSGPACK_MAGIC)) return { format: "msgpack", tensors: decodeMsgpack(bytes) };
  if (startsWith(bytes, NPY_MAGIC)) return { format: "npy", tensors: [decodeNpy(bytes)] };
  if (startsWith(bytes, ZIP_MAGIC)) {
    refuseTorchArchive(bytes);
    return { format: "npz", tensors: decodeNpz(bytes) };
  }
  refusePickle(bytes);
  if (looksLikeSafetensors(bytes)) return { format: "safetensors", tensors: decodeSafetensors(bytes) };
  throw unsupported("The format of the parameters is unknown.");
}

/** Writes tensors in a format. */
export function encodeParameters(tensors: readonly Tensor[], format: Format): Uint8Array<ArrayBuffer> {
  return joinPieces(encodePieces(tensors, format));
}

/**
 * The same bytes in pieces. Formats that contain the tensors' plain bytes do not copy them, so that a large model is not copied to be read
 * once.
 */
export function encodePieces(tensors: readonly Tensor[], format: Format): readonly Uint8Array[] {
  switch (format) {
    case "msgpack":
      return msgpackPieces(tensors);
    case "safetensors":
      return safetensorsPieces(tensors);
    case "npz":
      return [encodeNpz(tensors)];
    case "npy": {
      const [only] = tensors;
      if (only && tensors.length === 1) return npyPieces(only);
      throw new TrainerError(
        "VALIDATION_ERROR",
        `npy holds one array, but there are ${tensors.length} tensors; request the format npz or safetensors`,
      );
    }
  }
}

function refusePickle([first, second]: Uint8Array): void {
  if (first === 0x80 && second !== undefined && second >= 2 && second <= 5)
    throw unsupported("The parameters are a Python pickle, which this node never unpickles.");
}

/** Detects a torch.save archive by its pickle's name anywhere in the bytes, because the archive's directory may be manipulated. */
function refuseTorchArchive(bytes: Uint8Array): void {
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes("data.pkl"))
    throw unsupported("The parameters are a torch.save archive with a pickle inside, which this node never unpickles.");
}

function unsupported(what: string): TrainerError {
  return new TrainerError("UNSUPPORTED_PARAMETERS", `${what} ${ADVICE}`, { details: { formats: FORMATS } });
}

function startsWith(bytes: Uint8Array, magic: Uint8Array): boolean {
  return bytes.byteLength >= magic.byteLength && magic.every((byte, index) => bytes[index] === byte);
}
