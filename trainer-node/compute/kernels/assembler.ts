/**
 * A WebAssembly assembler just large enough for wasm-source.ts: every expression is the list of its bytes, operands first, so that source
 * reads like nested calls (`f32x4.add(a, f32x4.mul(b, c))`) and no binary is ever committed.
 */
export type Code = readonly number[];
export type ValueType = "i32" | "f32" | "f64" | "v128";

const TYPE_BYTES: Readonly<Record<ValueType, number>> = { i32: 0x7f, f32: 0x7d, f64: 0x7c, v128: 0x7b };
const [END, BLOCK, LOOP, BRANCH, BRANCH_IF, EMPTY_BLOCK, SIMD] = [0x0b, 0x02, 0x03, 0x0c, 0x0d, 0x40, 0xfd];

/** A parameter or local of a function, by its place. */
export interface Local {
  readonly get: Code;
  set(value: Code): Code;
}

export interface FunctionSource {
  readonly name: string;
  readonly parameters: readonly ValueType[];
  readonly result: ValueType | undefined;
  readonly locals: readonly ValueType[];
  readonly body: Code;
}

type Types = Readonly<Record<string, ValueType>>;

/** One exported function: parameters and locals by name, and a body made of them. */
export function defineFunction<Parameters extends Types, Locals extends Types>(
  name: string,
  signature: { parameters: Parameters; locals: Locals; result?: ValueType },
  body: (variables: { readonly [Name in keyof Parameters | keyof Locals]: Local }) => readonly Code[],
): FunctionSource {
  const names = [...Object.keys(signature.parameters), ...Object.keys(signature.locals)];
  const variables = Object.fromEntries(names.map((variable, index) => [variable, local(index)]));
  return {
    name,
    parameters: Object.values(signature.parameters),
    result: signature.result,
    locals: Object.values(signature.locals),
    body: body(variables as { [Name in keyof Parameters | keyof Locals]: Local }).flat(),
  };
}

function local(index: number): Local {
  return { get: [0x20, ...unsigned(index)], set: (value) => [...value, 0x21, ...unsigned(index)] };
}

/** `while (condition) body`. */
export function loopWhile(condition: Code, ...body: readonly Code[]): Code {
  const stopUnless = [...condition, 0x45, BRANCH_IF, 1];
  return [BLOCK, EMPTY_BLOCK, LOOP, EMPTY_BLOCK, ...stopUnless, ...body.flat(), BRANCH, 0, END, END];
}

const binary =
  (opcode: number) =>
  (left: Code, right: Code): Code => [...left, ...right, opcode];
const simdBinary =
  (opcode: number) =>
  (left: Code, right: Code): Code => [...left, ...right, SIMD, ...unsigned(opcode)];
const simdUnary =
  (opcode: number) =>
  (value: Code): Code => [...value, SIMD, ...unsigned(opcode)];

/** Alignment is a hint; 0 (none) is always right. */
const memory = (opcode: readonly number[], offset: number): Code => [...opcode, 0, ...unsigned(offset)];

export const i32 = {
  constant: (value: number): Code => [0x41, ...signed(value)],
  add: binary(0x6a),
  sub: binary(0x6b),
  mul: binary(0x6c),
  shl: binary(0x74),
  lessOrEqual: binary(0x4d),
  less: binary(0x49),
  load: (at: Code, offset = 0): Code => [...at, ...memory([0x28], offset)],
};

export const f32 = {
  load: (at: Code, offset = 0): Code => [...at, ...memory([0x2a], offset)],
  store: (at: Code, value: Code, offset = 0): Code => [...at, ...value, ...memory([0x38], offset)],
  add: binary(0x92),
  mul: binary(0x94),
};

export const f64 = {
  add: binary(0xa0),
  store: (at: Code, value: Code, offset = 0): Code => [...at, ...value, ...memory([0x39], offset)],
};

export const v128 = {
  load: (at: Code, offset = 0): Code => [...at, ...memory([SIMD, 0], offset)],
  store: (at: Code, value: Code, offset = 0): Code => [...at, ...value, ...memory([SIMD, 11], offset)],
  /** Four copies of the float at the address. */
  loadSplat: (at: Code, offset = 0): Code => [...at, ...memory([SIMD, 9], offset)],
  /** Eight bytes at the address, then zeros. */
  loadLower: (at: Code, offset = 0): Code => [...at, ...memory([SIMD, 93], offset)],
  /** Two copies of the eight bytes at the address. */
  loadSplatDouble: (at: Code, offset = 0): Code => [...at, ...memory([SIMD, 10], offset)],
  /** -0 in both float64 lanes. */
  minusZeros: [SIMD, 12, ...[0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x80]] as Code,
  zero: [SIMD, 12, ...new Array(16).fill(0)] as Code,
  constant: (bytes: readonly number[]): Code => [SIMD, 12, ...bytes],
  and: simdBinary(78),
  or: simdBinary(80),
  /** 1 where any bit is set. */
  anyTrue: simdUnary(83),
  /** The upper eight bytes, moved down. */
  upperHalf: (value: Code): Code => [...value, ...value, SIMD, 13, ...Array.from({ length: 16 }, (_, index) => 8 + (index % 8))],
};

const simdShift =
  (opcode: number) =>
  (value: Code, bits: number): Code => [...value, ...i32.constant(bits), SIMD, ...unsigned(opcode)];

export const i8x16 = {
  /** The bytes of `table` that the bytes of `places` name; zero beyond the table. */
  swizzle: simdBinary(14),
  shuffle: (value: Code, places: readonly number[]): Code => [...value, ...value, SIMD, 13, ...places],
  equal: simdBinary(35),
  add: simdBinary(110),
  shiftRight: simdShift(109),
};

export const i16x8 = { shiftLeft: simdShift(139), shiftRight: simdShift(141) };

/** Products of eight pairs of int16, each two neighbours added. */
export const i32x4 = { dot: simdBinary(186) };

export const f32x4 = {
  lane: (value: Code, lane: 0 | 1 | 2 | 3): Code => [...value, SIMD, 31, lane],
  splat: simdUnary(19),
  greater: simdBinary(68),
  add: simdBinary(0xe4),
  sub: simdBinary(0xe5),
  mul: simdBinary(0xe6),
  div: simdBinary(0xe7),
  sqrt: simdUnary(0xe3),
  /** `right < left ? right : left`. */
  pseudoMinimum: simdBinary(0xea),
  /** `left < right ? right : left`. */
  pseudoMaximum: simdBinary(0xeb),
  /** The two lower lanes of f64x2 as float32, then two zeros. */
  demote: simdUnary(0x5e),
  lowerPairs: (left: Code, right: Code): Code => [...left, ...right, SIMD, 13, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23],
};

export const f64x2 = {
  splat: simdUnary(20),
  add: simdBinary(0xf0),
  sub: simdBinary(0xf1),
  mul: simdBinary(0xf2),
  div: simdBinary(0xf3),
  pseudoMinimum: simdBinary(0xf6),
  pseudoMaximum: simdBinary(0xf7),
  /** The two lower lanes of f32x4 as float64. */
  promote: simdUnary(0x5f),
  lane: (value: Code, lane: 0 | 1): Code => [...value, SIMD, 33, lane],
};

/** The bytes of a module that imports its memory as `host.memory` and exports every function. */
export function assemble(functions: readonly FunctionSource[]): Uint8Array<ArrayBuffer> {
  const types = functions.map(({ parameters, result }) => [
    0x60,
    ...vector(parameters.map((type) => [TYPE_BYTES[type]])),
    ...vector(result ? [[TYPE_BYTES[result]]] : []),
  ]);
  const exports = functions.map(({ name }, index) => [...text(name), 0x00, ...unsigned(index)]);
  const bodies = functions.map(({ locals, body }) => {
    const code = [...vector(locals.map((type) => [1, TYPE_BYTES[type]])), ...body, END];
    return [...unsigned(code.length), ...code];
  });
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector(types)),
    ...section(2, vector([[...text("host"), ...text("memory"), 0x02, 0x00, 0x00]])),
    ...section(3, vector(functions.map((_, index) => unsigned(index)))),
    ...section(7, vector(exports)),
    ...section(10, vector(bodies)),
  ]);
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content];
}

function vector(items: readonly Code[]): Code {
  return [...unsigned(items.length), ...items.flat()];
}

function text(value: string): Code {
  return vector([...Buffer.from(value)].map((byte) => [byte]));
}

function unsigned(value: number): Code {
  const low = value & 0x7f;
  return value < 0x80 ? [low] : [low | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  const low = value & 0x7f;
  const rest = value >> 7;
  const done = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
  return done ? [low] : [low | 0x80, ...signed(rest)];
}
