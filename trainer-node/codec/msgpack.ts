import { Packr, Unpackr } from "msgpackr/index-no-eval";
import { InputProblem } from "../compute/problem.ts";
import { DTYPES, isDType, TENSOR_LIMITS, type Tensor, tensorBytes, tensorFromBytes } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";

/**
 * The msgpack container: the four bytes "TRB1", one byte of version (1), then one MessagePack map `{names: [str], shapes: [[uint]], dtypes:
 * [str], data: [bin]}`. All four lists have the same length; data is little-endian and row-major. Equal tensors give equal bytes.
 */
export const MSGPACK_MAGIC = Uint8Array.of(0x54, 0x52, 0x42, 0x31);
const VERSION = 1;
const HEADER_BYTES = MSGPACK_MAGIC.length + 1;
const KEYS = ["names", "shapes", "dtypes", "data"] as const;

/** The container in pieces: the tensors' bytes without a copy, and MessagePack's headers between them. */
export function msgpackPieces(tensors: readonly Tensor[]): Uint8Array[] {
  const packed = new Packr({ useRecords: false, variableMapSize: true }).pack({
    names: tensors.map((tensor) => tensor.name),
    shapes: tensors.map((tensor) => [...tensor.shape]),
    dtypes: tensors.map((tensor) => tensor.dtype),
    data: [],
  });
  // The empty list at the end is replaced by one with the data.
  const head = [MSGPACK_MAGIC, Uint8Array.of(VERSION), packed.subarray(0, -1), listHeader(tensors.length)];
  return [
    ...head,
    ...tensors.flatMap((tensor) => {
      const bytes = tensorBytes(tensor);
      return [binaryHeader(bytes.byteLength), bytes];
    }),
  ];
}

function listHeader(length: number): Uint8Array {
  if (length < 16) return Uint8Array.of(0x90 | length);
  return length < 2 ** 16 ? sized(0xdc, 2, length) : sized(0xdd, 4, length);
}

function binaryHeader(length: number): Uint8Array {
  if (length < 2 ** 8) return sized(0xc4, 1, length);
  return length < 2 ** 16 ? sized(0xc5, 2, length) : sized(0xc6, 4, length);
}

/** A type byte and a big-endian length of `bytes` bytes. */
function sized(type: number, bytes: 1 | 2 | 4, length: number): Uint8Array {
  const header = Buffer.alloc(1 + bytes);
  header[0] = type;
  header.writeUIntBE(length, 1, bytes);
  return header;
}

/** Reads the tensors of a msgpack container. */
export function decodeMsgpack(bytes: Uint8Array): Tensor[] {
  const version = bytes[MSGPACK_MAGIC.length];
  if (version !== VERSION) {
    throw new TrainerError(
      "UNSUPPORTED_PARAMETERS",
      `the msgpack container has version ${version ?? "none"}; this node reads version ${VERSION}`,
    );
  }
  const { names, shapes, dtypes, data } = readMap(bytes.subarray(HEADER_BYTES));
  const count = names.length;
  if (shapes.length !== count || dtypes.length !== count || data.length !== count) damaged("its lists have different lengths");
  if (count > TENSOR_LIMITS.tensorsMax) damaged(`it has ${count} tensors; at most ${TENSOR_LIMITS.tensorsMax}`);
  const seen = new Set<string>();
  return names.map((name, index) => {
    if (typeof name !== "string" || Buffer.byteLength(name) > TENSOR_LIMITS.nameBytesMax)
      damaged(`the name of tensor ${index} is not a short text`);
    if (seen.has(name)) damaged(`it has two tensors named "${name}"`);
    seen.add(name);
    const dtype = dtypes[index];
    if (!isDType(dtype)) {
      throw new TrainerError("UNSUPPORTED_PARAMETERS", `tensor "${name}" has an unknown dtype; this node reads ${DTYPES.join(", ")}`, {
        details: { tensor: name },
      });
    }
    const shape = shapes[index];
    if (!Array.isArray(shape) || !shape.every((dimension) => typeof dimension === "number"))
      damaged(`the shape of "${name}" is not a list of numbers`);
    const raw = data[index];
    if (!(raw instanceof Uint8Array)) damaged(`the data of "${name}" are not bytes`);
    return tensorFromBytes({ name, dtype, shape }, raw);
  });
}

/**
 * Reads one untrusted MessagePack value. Every message gets a new reader, because readers keep structures; records are off, and only plain
 * lists pass, because extensions would arrive as sets, dates or regular expressions.
 */
function readMap(bytes: Uint8Array): Record<(typeof KEYS)[number], unknown[]> {
  let value: unknown;
  try {
    value = new Unpackr({ useRecords: false, mapsAsObjects: true, structuredClone: false, int64AsType: "bigint" }).unpack(bytes);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : "unreadable";
    // The reader calls itself for each level, until the thread's stack is full.
    damaged(/call stack/i.test(message) ? "its lists are nested too deeply" : message);
  }
  if (typeof value !== "object" || value === null || Object.keys(value).length !== KEYS.length) damaged("it is not a map of four lists");
  const map = value as Record<string, unknown>;
  for (const key of KEYS) if (!Object.hasOwn(map, key) || !Array.isArray(map[key])) damaged(`"${key}" is not a list`);
  return map as Record<(typeof KEYS)[number], unknown[]>;
}

function damaged(what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `the msgpack container is damaged: ${what}`);
}
