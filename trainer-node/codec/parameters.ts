import type { Tensor } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { decodeMsgpack, encodeMsgpack, MSGPACK_MAGIC } from "./msgpack.ts";
import { decodeNpy, encodeNpy, NPY_MAGIC } from "./npy.ts";

/** The containers this node reads and writes. */
export const FORMATS = ["msgpack", "npy"] as const;
export type Format = (typeof FORMATS)[number];

const ZIP_MAGIC = Uint8Array.of(0x50, 0x4b, 0x03, 0x04);

/** Recognises a container by its first bytes and reads it. Pickles are told apart to be refused, never to be read. */
export function decodeParameters(bytes: Uint8Array): { format: Format; tensors: Tensor[] } {
  if (startsWith(bytes, MSGPACK_MAGIC)) return { format: "msgpack", tensors: decodeMsgpack(bytes) };
  if (startsWith(bytes, NPY_MAGIC)) return { format: "npy", tensors: [decodeNpy(bytes)] };
  const advice = `Send safetensors or npy; this node reads ${FORMATS.join(" and ")} so far.`;
  throw new TrainerError("UNSUPPORTED_PARAMETERS", `${describe(bytes)} ${advice}`, { details: { formats: FORMATS } });
}

export function encodeParameters(tensors: readonly Tensor[], format: Format): Uint8Array<ArrayBuffer> {
  if (format === "msgpack") return encodeMsgpack(tensors);
  const [only] = tensors;
  if (!only || tensors.length !== 1) {
    throw new TrainerError("VALIDATION_ERROR", `npy holds one array and there are ${tensors.length} tensors; ask for msgpack`);
  }
  return encodeNpy(only);
}

function describe(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0x80 && second !== undefined && second >= 2 && second <= 5)
    return "The parameters are a Python pickle, which is never evaluated here.";
  if (startsWith(bytes, ZIP_MAGIC)) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes("data.pkl")
      ? "The parameters are a torch.save archive with a pickle inside, which is never evaluated here."
      : "The parameters are a zip archive.";
  }
  return "The parameters are in a format that is not known by their first bytes.";
}

function startsWith(bytes: Uint8Array, magic: Uint8Array): boolean {
  return bytes.byteLength >= magic.byteLength && magic.every((byte, index) => bytes[index] === byte);
}
