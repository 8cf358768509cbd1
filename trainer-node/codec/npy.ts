import { InputProblem } from "../compute/problem.ts";
import { type DType, ELEMENT_BYTES, type Tensor, tensorBytes, tensorFromBytes } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";

/** NumPy's .npy format, versions 1 to 3: one array without a name. */
export const NPY_MAGIC = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59);
/** The name of the array of an npy file, as numpy.savez would give it. */
export const NPY_TENSOR_NAME = "arr_0";

const HEADER_BYTES_MAX = 65_536;
const ALIGNMENT = 64;
const HEADER = /^\s*\{\s*'descr':\s*'([^']{1,16})'\s*,\s*'fortran_order':\s*(True|False)\s*,\s*'shape':\s*\(([\d\s,]*)\)\s*(?:,\s*)?\}\s*$/;
/** NumPy has no bfloat16, so npy answers with one are refused. */
const NUMPY_TYPES: Readonly<Record<Exclude<DType, "bf16">, string>> = {
  f16: "f2",
  f32: "f4",
  f64: "f8",
  i8: "i1",
  i16: "i2",
  i32: "i4",
  i64: "i8",
  u8: "u1",
  u16: "u2",
  u32: "u4",
  u64: "u8",
  bool: "b1",
};

/** The file in pieces: the header, then the array's bytes without a copy. */
export function npyPieces(tensor: Tensor): Uint8Array[] {
  if (tensor.dtype === "bf16") {
    throw new TrainerError("VALIDATION_ERROR", "NumPy has no bf16; request the format safetensors or msgpack", {
      details: { tensor: tensor.name },
    });
  }
  const order = ELEMENT_BYTES[tensor.dtype] === 1 ? "|" : "<";
  const shape = tensor.shape.length === 1 ? `${tensor.shape[0]},` : tensor.shape.join(", ");
  const text = `{'descr': '${order}${NUMPY_TYPES[tensor.dtype]}', 'fortran_order': False, 'shape': (${shape}), }`;
  const prefixBytes = NPY_MAGIC.length + 4;
  const headerBytes = Math.ceil((prefixBytes + text.length + 1) / ALIGNMENT) * ALIGNMENT - prefixBytes;
  const header = new Uint8Array(prefixBytes + headerBytes);
  header.set(NPY_MAGIC);
  header[NPY_MAGIC.length] = 1;
  new DataView(header.buffer).setUint16(NPY_MAGIC.length + 2, headerBytes, true);
  header.set(Buffer.from(`${text.padEnd(headerBytes - 1)}\n`, "latin1"), prefixBytes);
  return [header, tensorBytes(tensor)];
}

/** Reads the array of an npy file. */
export function decodeNpy(bytes: Uint8Array): Tensor {
  const { text, dataOffset } = readHeader(bytes);
  const match = HEADER.exec(text);
  if (!match) damaged("its header is not the dictionary NumPy writes");
  const [, descr = "", fortran, dimensions = ""] = match;
  const shape = dimensions
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map(Number);
  const { dtype, swapped } = readType(descr);
  const stored = bytes.subarray(dataOffset);
  const data = fortran === "True" ? inRowOrder(stored, shape, ELEMENT_BYTES[dtype]) : stored;
  return tensorFromBytes({ name: NPY_TENSOR_NAME, dtype, shape }, swapped ? swapBytes(data, ELEMENT_BYTES[dtype]) : data);
}

function readHeader(bytes: Uint8Array): { text: string; dataOffset: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const major = bytes[NPY_MAGIC.length];
  if (major === undefined) damaged("it ends before its version");
  if (major < 1 || major > 3)
    throw new TrainerError("UNSUPPORTED_PARAMETERS", `npy version ${major} is unknown; this node reads versions 1 to 3`);
  const lengthOffset = NPY_MAGIC.length + 2;
  const textOffset = lengthOffset + (major === 1 ? 2 : 4);
  if (bytes.byteLength < textOffset) damaged("it ends before its header");
  const headerBytes = major === 1 ? view.getUint16(lengthOffset, true) : view.getUint32(lengthOffset, true);
  if (headerBytes > HEADER_BYTES_MAX) damaged(`its header has ${headerBytes} bytes; at most ${HEADER_BYTES_MAX}`);
  const dataOffset = textOffset + headerBytes;
  if (bytes.byteLength < dataOffset) damaged("it ends within its header");
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + textOffset, headerBytes).toString(major === 3 ? "utf8" : "latin1");
  return { text, dataOffset };
}

function readType(descr: string): { dtype: DType; swapped: boolean } {
  const order = descr.charAt(0);
  const known = Object.entries(NUMPY_TYPES).find(([, type]) => type === descr.slice(1));
  if (!known || !"<>|=".includes(order)) {
    const kinds = Object.values(NUMPY_TYPES).join(", ");
    // The dtype "|O" contains Python objects as a pickle.
    throw new TrainerError("UNSUPPORTED_PARAMETERS", `npy dtype '${descr}' is not supported; this node reads ${kinds}`, {
      details: { dtype: descr },
    });
  }
  return { dtype: known[0] as DType, swapped: order === ">" && ELEMENT_BYTES[known[0] as DType] > 1 };
}

/** The elements of an array in Fortran order, the first index of which changes fastest, with the last one changing fastest. */
function inRowOrder(bytes: Uint8Array, shape: readonly number[], elementBytes: number): Uint8Array {
  const count = shape.reduce((product, size) => product * size, 1);
  // An array of another size is refused by its reader.
  if (shape.length < 2 || count * elementBytes !== bytes.byteLength) return bytes;
  const View = VIEWS[elementBytes] ?? Uint8Array;
  const columns = new View(Uint8Array.from(bytes).buffer);
  const rows = new View(count);
  const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((product, size) => product * size, 1));
  const index = new Array<number>(shape.length).fill(0);
  for (let at = 0, from = 0; at < count; at++) {
    rows[at] = columns[from] as number;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis] as number;
      index[axis] = (index[axis] as number) + 1;
      if ((index[axis] as number) < (shape[axis] as number)) break;
      from -= (strides[axis] as number) * (shape[axis] as number);
      index[axis] = 0;
    }
  }
  return new Uint8Array(rows.buffer);
}

/** Elements are moved as plain bits. Float64Array would do for eight bytes, too, but may change the bits of a NaN. */
const VIEWS: Readonly<Record<number, typeof Uint8Array | typeof Uint16Array | typeof Uint32Array>> = {
  1: Uint8Array,
  2: Uint16Array,
  4: Uint32Array,
  8: BigUint64Array as unknown as typeof Uint32Array,
};

function swapBytes(bytes: Uint8Array, elementBytes: number): Uint8Array {
  // The bytes are copied, because they are hashed elsewhere and must stay as received.
  const copy = Buffer.from(bytes);
  if (copy.byteLength % elementBytes !== 0) damaged("it ends within an element");
  if (elementBytes === 2) return copy.swap16();
  return elementBytes === 4 ? copy.swap32() : copy.swap64();
}

function damaged(what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `the npy array is damaged: ${what}`);
}
