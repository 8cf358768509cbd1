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
  const format = formatOf(bytes, bytes.byteLength);
  switch (format) {
    case "msgpack":
      return { format, tensors: decodeMsgpack(bytes) };
    case "npy":
      return { format, tensors: [decodeNpy(bytes)] };
    case "npz":
      refuseTorchArchive(bytes);
      return { format, tensors: decodeNpz(bytes) };
    case "safetensors":
      return { format, tensors: decodeSafetensors(bytes) };
    case "pickle":
      throw unsupported("The parameters are a Python pickle, which this node never unpickles.");
    case undefined:
      throw unsupported("The format of the parameters is unknown.");
  }
}

/** First bytes that suffice to detect a format. */
export const HEAD_BYTES = 16;
/** The name of the pickle in an archive of torch.save. */
export const TORCH_PICKLE = "data.pkl";

/** The format of a file, by its first bytes. An archive of torch.save looks like npz; TORCH_PICKLE anywhere in it tells them apart. */
export function formatOf(head: Uint8Array, fileBytes: number): Format | "pickle" | undefined {
  if (startsWith(head, MSGPACK_MAGIC)) return "msgpack";
  if (startsWith(head, NPY_MAGIC)) return "npy";
  if (startsWith(head, ZIP_MAGIC)) return "npz";
  if (isPickle(head)) return "pickle";
  return looksLikeSafetensors(head, fileBytes) ? "safetensors" : undefined;
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

function isPickle([first, second]: Uint8Array): boolean {
  return first === 0x80 && second !== undefined && second >= 2 && second <= 5;
}

/** Detects a torch.save archive by its pickle's name anywhere in the bytes, because the archive's directory may be manipulated. */
function refuseTorchArchive(bytes: Uint8Array): void {
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(TORCH_PICKLE))
    throw unsupported("The parameters are a torch.save archive with a pickle inside, which this node never unpickles.");
}

function unsupported(what: string): TrainerError {
  return new TrainerError("UNSUPPORTED_PARAMETERS", `${what} ${ADVICE}`, { details: { formats: FORMATS } });
}

function startsWith(bytes: Uint8Array, magic: Uint8Array): boolean {
  return bytes.byteLength >= magic.byteLength && magic.every((byte, index) => bytes[index] === byte);
}
