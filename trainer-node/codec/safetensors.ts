import { jsonDepthExceeds } from "../../common/json.ts";
import { InputProblem } from "../compute/problem.ts";
import { type DType, ELEMENT_BYTES, TENSOR_LIMITS, type Tensor, tensorBytes, tensorFromBytes } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";

/** Hugging Face's safetensors: eight bytes of header length, a JSON header, then the tensors' bytes without holes. */
const LENGTH_BYTES = 8;
/** Room for the most tensors with the longest names, and no more: the header is parsed before anything else is known. */
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

/** By shape: a plausible length that ends within the bytes, and a brace where the header begins. */
export function looksLikeSafetensors(bytes: Uint8Array): boolean {
  if (bytes.byteLength <= LENGTH_BYTES || bytes[LENGTH_BYTES] !== OPEN_BRACE) return false;
  return headerLength(bytes) <= BigInt(bytes.byteLength - LENGTH_BYTES);
}

export function encodeSafetensors(tensors: readonly Tensor[]): Uint8Array<ArrayBuffer> {
  // Wide types first, then by name, as the reference writer has it: every tensor is aligned, and equal tensors give equal bytes.
  const ordered = tensors.toSorted(
    (left, right) => ELEMENT_BYTES[right.dtype] - ELEMENT_BYTES[left.dtype] || compareNames(left.name, right.name),
  );
  const parts = ordered.map(tensorBytes);
  let offset = 0;
  const entries = ordered.map(({ name, dtype, shape }, index): [string, object] => {
    const start = offset;
    offset += parts[index]?.byteLength ?? 0;
    return [name, { dtype: NAMES[dtype], shape, data_offsets: [start, offset] }];
  });
  const text = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const headerBytes = Math.ceil(text.byteLength / 8) * 8;
  const file = new Uint8Array(LENGTH_BYTES + headerBytes + offset);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerBytes), true);
  file.fill(0x20, LENGTH_BYTES + text.byteLength, LENGTH_BYTES + headerBytes);
  file.set(text, LENGTH_BYTES);
  let at = LENGTH_BYTES + headerBytes;
  for (const part of parts) {
    file.set(part, at);
    at += part.byteLength;
  }
  return file;
}

export function decodeSafetensors(bytes: Uint8Array): Tensor[] {
  const length = headerLength(bytes);
  if (length > BigInt(HEADER_BYTES_MAX)) damaged(`its header has ${length} bytes; at most ${HEADER_BYTES_MAX}`);
  const dataOffset = LENGTH_BYTES + Number(length);
  const entries = readHeader(bytes.subarray(LENGTH_BYTES, dataOffset));
  if (entries.length > TENSOR_LIMITS.tensorsMax) damaged(`it has ${entries.length} tensors; at most ${TENSOR_LIMITS.tensorsMax}`);
  const data = bytes.subarray(dataOffset);
  const placed = entries
    .map(([name, value]) => readEntry(name, value))
    .toSorted((left, right) => left.start - right.start || left.end - right.end);
  let covered = 0;
  for (const { name, start, end } of placed) {
    if (start !== covered) damaged(`tensor "${name}" begins at ${start}, where ${covered} was due: tensors may not overlap or leave holes`);
    covered = end;
  }
  if (covered !== data.byteLength) damaged(`its tensors end at ${covered} and its data at ${data.byteLength}`);
  return placed.map(({ name, dtype, shape, start, end }) => tensorFromBytes({ name, dtype, shape }, data.subarray(start, end)));
}

function headerLength(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0, true);
}

function readHeader(bytes: Uint8Array): [string, unknown][] {
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (jsonDepthExceeds(text, HEADER_DEPTH_MAX)) damaged("its header is nested too deep");
    value = JSON.parse(text);
  } catch (thrown) {
    if (thrown instanceof InputProblem) throw thrown;
    damaged("its header is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) damaged("its header is not an object");
  return Object.entries(value).filter(([name]) => name !== METADATA);
}

interface Entry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly start: number;
  readonly end: number;
}

function readEntry(name: string, value: unknown): Entry {
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
