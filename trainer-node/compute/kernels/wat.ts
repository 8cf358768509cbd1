/**
 * WebAssembly text (WAT) from nested calls: `f32x4.add(a, f32x4.mul(b, c))` is `(f32x4.add a (f32x4.mul b c))`. The functions have the
 * names of the instructions, so the WebAssembly reference applies as it is. `make generate` compiles the text with wabt (decision 20).
 */
export type Code = string;
/** A WebAssembly value type. */
export type ValueType = "i32" | "f32" | "f64" | "v128";

/** A parameter or local of a function. */
export interface Local {
  readonly get: Code;
  set(value: Code): Code;
}

/** The text of one function. */
export interface FunctionSource {
  readonly name: string;
  readonly text: Code;
}

type Types = Readonly<Record<string, ValueType>>;

/** Defines an exported function with named parameters and locals. */
export function defineFunction<Parameters extends Types, Locals extends Types>(
  name: string,
  signature: { parameters: Parameters; locals: Locals; result?: ValueType },
  body: (variables: { readonly [Name in keyof Parameters | keyof Locals]: Local }) => readonly Code[],
): FunctionSource {
  const names = [...Object.keys(signature.parameters), ...Object.keys(signature.locals)];
  const variables = Object.fromEntries(names.map((variable) => [variable, local(variable)]));
  const declared = (kind: "param" | "local", types: Types): Code[] =>
    Object.entries(types).map(([variable, type]) => `(${kind} $${variable} ${type})`);
  const lines = [
    `(func $${name} (export "${name}")`,
    ...declared("param", signature.parameters),
    ...(signature.result ? [`(result ${signature.result})`] : []),
    ...declared("local", signature.locals),
    ...body(variables as { [Name in keyof Parameters | keyof Locals]: Local }),
  ];
  return { name, text: `${indented(lines)})` };
}

/** The text of a module that imports its memory as `host.memory` and exports every function. */
export function moduleText(functions: readonly FunctionSource[]): string {
  return `${indented(["(module", '(import "host" "memory" (memory 0))', ...functions.map(({ text }) => text)])})\n`;
}

function local(name: string): Local {
  return { get: `(local.get $${name})`, set: (value) => instruction(`local.set $${name}`, value) };
}

/** `while (condition) body`. Labels are resolved by nesting, so every loop may use the same names. */
export function loopWhile(condition: Code, ...body: readonly Code[]): Code {
  const loop = `${indented(["(loop $next", `(br_if $done (i32.eqz ${condition}))`, ...body, "(br $next)"])})`;
  return `${indented(["(block $done", loop])})`;
}

const indented = (lines: readonly string[]): string => lines.join("\n").replaceAll("\n", "\n  ");
const instruction = (name: string, ...operands: readonly (Code | number)[]): Code => `(${[name, ...operands].join(" ")})`;
const unary =
  (name: string) =>
  (value: Code): Code =>
    instruction(name, value);
const binary =
  (name: string) =>
  (left: Code, right: Code): Code =>
    instruction(name, left, right);
/** Addresses may be unaligned, so loads and stores declare align=1. */
const load =
  (name: string) =>
  (at: Code, offset = 0): Code =>
    instruction(`${name} offset=${offset} align=1`, at);
const store =
  (name: string) =>
  (at: Code, value: Code, offset = 0): Code =>
    instruction(`${name} offset=${offset} align=1`, at, value);
const shift =
  (name: string) =>
  (value: Code, bits: number): Code =>
    instruction(name, value, i32.constant(bits));
const lane =
  (name: string) =>
  (value: Code, index: number): Code =>
    instruction(name, index, value);
const shuffle = (left: Code, right: Code, bytes: readonly number[]): Code => instruction("i8x16.shuffle", ...bytes, left, right);
const bytes = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

/** Instructions on 32-bit integers. */
export const i32 = {
  constant: (value: number): Code => instruction("i32.const", value),
  add: binary("i32.add"),
  sub: binary("i32.sub"),
  mul: binary("i32.mul"),
  shl: binary("i32.shl"),
  lessOrEqual: binary("i32.le_u"),
  less: binary("i32.lt_u"),
  load: load("i32.load"),
};

/** Instructions on float32. */
export const f32 = { load: load("f32.load"), store: store("f32.store"), add: binary("f32.add"), mul: binary("f32.mul") };

/** Instructions on float64. */
export const f64 = { add: binary("f64.add"), store: store("f64.store") };

const constant = (values: readonly number[]): Code => instruction("v128.const i8x16", ...values);

/** Instructions on 128-bit vectors. */
export const v128 = {
  load: load("v128.load"),
  store: store("v128.store"),
  /** Four copies of the float at the address. */
  loadSplat: load("v128.load32_splat"),
  /** Eight bytes at the address, then zeros. */
  loadLower: load("v128.load64_zero"),
  zero: constant(new Array(16).fill(0)),
  constant,
  and: binary("v128.and"),
  or: binary("v128.or"),
  /** 1 where any bit is set. */
  anyTrue: unary("v128.any_true"),
  /** The upper eight bytes, moved down. */
  upperHalf: (value: Code): Code => shuffle(value, value, [...bytes(8, 8), ...bytes(8, 8)]),
};

/** Instructions on sixteen bytes. */
export const i8x16 = {
  /** The bytes of `table` that the bytes of `places` name; zero beyond the table. */
  swizzle: binary("i8x16.swizzle"),
  shuffle: (value: Code, places: readonly number[]): Code => shuffle(value, value, places),
  equal: binary("i8x16.eq"),
  add: binary("i8x16.add"),
  shiftRight: shift("i8x16.shr_u"),
};

/** Instructions on eight 16-bit integers. */
export const i16x8 = { shiftLeft: shift("i16x8.shl"), shiftRight: shift("i16x8.shr_u") };

/** Products of eight pairs of int16, each two neighbors added. */
export const i32x4 = { dot: binary("i32x4.dot_i16x8_s") };

/** Instructions on four float32. */
export const f32x4 = {
  lane: lane("f32x4.extract_lane"),
  splat: unary("f32x4.splat"),
  greater: binary("f32x4.gt"),
  add: binary("f32x4.add"),
  sub: binary("f32x4.sub"),
  mul: binary("f32x4.mul"),
  div: binary("f32x4.div"),
  sqrt: unary("f32x4.sqrt"),
  /** `right < left ? right : left`. */
  pseudoMinimum: binary("f32x4.pmin"),
  /** `left < right ? right : left`. */
  pseudoMaximum: binary("f32x4.pmax"),
  /** The two lower lanes of f64x2 as float32, then two zeros. */
  demote: unary("f32x4.demote_f64x2_zero"),
  lowerPairs: (left: Code, right: Code): Code => shuffle(left, right, [...bytes(0, 8), ...bytes(16, 8)]),
};

/** Instructions on two float64. */
export const f64x2 = {
  splat: unary("f64x2.splat"),
  add: binary("f64x2.add"),
  sub: binary("f64x2.sub"),
  mul: binary("f64x2.mul"),
  div: binary("f64x2.div"),
  pseudoMinimum: binary("f64x2.pmin"),
  pseudoMaximum: binary("f64x2.pmax"),
  /** The two lower lanes of f32x4 as float64. */
  promote: unary("f64x2.promote_low_f32x4"),
  lane: lane("f64x2.extract_lane"),
};
