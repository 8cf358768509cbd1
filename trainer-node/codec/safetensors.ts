import { jsonDepthExceeds } from "../../common/json.ts";
import { InputProblem } from "../compute/problem.ts";
import {
  type DType,
  ELEMENT_BYTES,
  elementCount,
  TENSOR_LIMITS,
  type Tensor,
  type TensorHeader,
  tensorBytes,
  tensorFromBytes,
} from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";

/** The safetensors format (huggingface/safetensors): eight bytes of header length, a JSON header, then the tensors' bytes without gaps. */
const LENGTH_BYTES = 8;
/** Space for the most tensors with the longest names; the header is parsed before anything else is known. */
const HEADER_BYTES_MAX = 16 * 1024 * 1024;
const HEADER_DEPTH_MAX = 4;
const OPEN_BRACE = 0x7b;
const METADATA = "__metadata__";

const TYPES: Readonly<Record<string, DType>> = {
  F64: "f64",
  F32: "f32",
  F16: "f16",
  BF16: "bf16",
  I64: "i64",
  I32: "i32",
  I16: "i16",
  I8: "i8",
  U64: "u64",
  U32: "u32",
  U16: "u16",
  U8: "u8",
  BOOL: "bool",
};
const NAMES = Object.fromEntries(Object.entries(TYPES).map(([name, dtype]) => [dtype, name])) as Readonly<Record<DType, string>>;

/**
 * Detects safetensors by a header length that fits the file, of which `bytes` are the first, and a brace at the beginning of the header.
 */
export function looksLikeSafetensors(bytes: Uint8Array, fileBytes = bytes.byteLength): boolean {
  if (bytes.byteLength <= LENGTH_BYTES || bytes[LENGTH_BYTES] !== OPEN_BRACE) return false;
  return headerLength(bytes) <= BigInt(fileBytes - LENGTH_BYTES);
}

/** The file in pieces: the header, then the tensors' bytes without a copy. */
export function safetensorsPieces(tensors: readonly Tensor[]): Uint8Array[] {
  const { head, places } = planSafetensors(tensors);
  const byPlace = tensors.toSorted((left, right) => (places.get(left.name) ?? 0) - (places.get(right.name) ?? 0));
  return [head, ...byPlace.map(tensorBytes)];
}

/** Plans a file before its numbers are known: its first bytes, the offset of each tensor, and its size. */
export function planSafetensors(tensors: readonly TensorHeader[]): { head: Uint8Array; places: Map<string, number>; bytes: number } {
  // Wide types come first, then names, as in the reference writer: every tensor is aligned, and equal tensors give equal bytes.
  const ordered = tensors.toSorted(
    (left, right) => ELEMENT_BYTES[right.dtype] - ELEMENT_BYTES[left.dtype] || compareNames(left.name, right.name),
  );
  let offset = 0;
  const placed = ordered.map(({ name, dtype, shape }) => {
    const start = offset;
    offset += elementCount(shape, name) * ELEMENT_BYTES[dtype];
    return { name, start, entry: { dtype: NAMES[dtype], shape, data_offsets: [start, offset] } };
  });
  const text = Buffer.from(JSON.stringify(Object.fromEntries(placed.map(({ name, entry }) => [name, entry]))));
  const headerBytes = Math.ceil(text.byteLength / 8) * 8;
  const head = new Uint8Array(LENGTH_BYTES + headerBytes).fill(0x20);
  new DataView(head.buffer).setBigUint64(0, BigInt(headerBytes), true);
  head.set(text, LENGTH_BYTES);
  return {
    head,
    places: new Map(placed.map(({ name, start }) => [name, head.byteLength + start])),
    bytes: head.byteLength + offset,
  };
}

/** Reads the tensors of a safetensors file. */
export function decodeSafetensors(bytes: Uint8Array): Tensor[] {
  return safetensorsLayout(bytes, bytes.byteLength).map(({ name, dtype, shape, start, end }) =>
    tensorFromBytes({ name, dtype, shape }, bytes.subarray(start, end)),
  );
}

/** The size of the header that `safetensorsLayout` needs, from the first eight bytes of the file. */
export function safetensorsHeadBytes(first: Uint8Array): number {
  const length = headerLength(first);
  if (length > BigInt(HEADER_BYTES_MAX)) damaged(`its header has ${length} bytes; at most ${HEADER_BYTES_MAX}`);
  return LENGTH_BYTES + Number(length);
}

/** The tensors of a file in the order of their offsets, from the file's first bytes and its size. */
export function safetensorsLayout(head: Uint8Array, fileBytes: number): PlacedTensor[] {
  const dataOffset = safetensorsHeadBytes(head);
  const entries = readHeader(head.subarray(LENGTH_BYTES, dataOffset));
  if (entries.length > TENSOR_LIMITS.tensorsMax) damaged(`it has ${entries.length} tensors; at most ${TENSOR_LIMITS.tensorsMax}`);
  const dataBytes = fileBytes - dataOffset;
  const placed = entries
    .map(([name, value]) => readEntry(name, value))
    .toSorted((left, right) => left.start - right.start || left.end - right.end);
  let covered = 0;
  for (const { name, start, end } of placed) {
    if (start !== covered) damaged(`tensor "${name}" begins at ${start}, instead of ${covered}: tensors may not overlap or leave gaps`);
    covered = end;
  }
  if (covered !== dataBytes) damaged(`its tensors end at ${covered} and its data at ${dataBytes}`);
  return placed.map((entry) => ({ ...entry, start: dataOffset + entry.start, end: dataOffset + entry.end }));
}

function headerLength(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0, true);
}

function readHeader(bytes: Uint8Array): [string, unknown][] {
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (jsonDepthExceeds(text, HEADER_DEPTH_MAX)) damaged("its header is nested too deeply");
    value = JSON.parse(text);
  } catch (thrown) {
    if (thrown instanceof InputProblem) throw thrown;
    damaged("its header is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) damaged("its header is not an object");
  return Object.entries(value).filter(([name]) => name !== METADATA);
}

/** A tensor and its byte range in the file. */
export interface PlacedTensor extends TensorHeader {
  readonly start: number;
  readonly end: number;
}

function readEntry(name: string, value: unknown): PlacedTensor {
  if (Buffer.byteLength(name) > TENSOR_LIMITS.nameBytesMax) damaged(`a tensor's name has more than ${TENSOR_LIMITS.nameBytesMax} bytes`);
  if (typeof value !== "object" || value === null) damaged(`tensor "${name}" is not described by an object`);
  const { dtype: type, shape, data_offsets: offsets } = value as Record<string, unknown>;
  const dtype = typeof type === "string" && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (dtype === undefined) {
    const message = `tensor "${name}" has a dtype this node does not read; it reads ${Object.keys(TYPES).join(", ")}`;
    throw new TrainerError("UNSUPPORTED_PARAMETERS", message, { details: { tensor: name, dtype: String(type).slice(0, 50) } });
  }
  if (!isCounts(shape)) damaged(`the shape of "${name}" is not a list of whole numbers`);
  if (!isCounts(offsets) || offsets.length !== 2) damaged(`the data_offsets of "${name}" are not two whole numbers`);
  const [start = 0, end = 0] = offsets;
  if (end < start) damaged(`the data_offsets of "${name}" run backwards`);
  return { name, dtype, shape, start, end };
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((entry) => Number.isSafeInteger(entry) && entry >= 0);
}

function compareNames(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function damaged(what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `the safetensors file is damaged: ${what}`);
}
