/**
 * float16 and bfloat16 as bits: widening to float32 is exact, narrowing rounds to nearest, ties to even. NaNs keep as much of their payload
 * as fits, so that values that are only passed through do not change.
 */
export function widenHalf(bits: Uint16Array): Float32Array<ArrayBuffer> {
  const table = halfTable();
  const wide = new Uint32Array(bits.length);
  for (let index = 0; index < bits.length; index++) wide[index] = table[bits[index] as number] as number;
  return new Float32Array(wide.buffer);
}

/** Rounds float32 to float16. */
export function narrowToHalf(values: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = bitsOf(values);
  return Uint16Array.from(bits, halfOf);
}

/** Widens bfloat16 to float32. */
export function widenBrain(bits: Uint16Array): Float32Array<ArrayBuffer> {
  const wide = new Uint32Array(bits.length);
  for (let index = 0; index < bits.length; index++) wide[index] = (bits[index] as number) << 16;
  return new Float32Array(wide.buffer);
}

/** Rounds float32 to bfloat16. */
export function narrowToBrain(values: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = bitsOf(values);
  return Uint16Array.from(bits, brainOf);
}

let table: Uint32Array | undefined;

/** All 65,536 float16 values, widened once: a look-up is several times faster than the arithmetic. */
function halfTable(): Uint32Array {
  table ??= Uint32Array.from({ length: 65_536 }, (_, half) => widenOne(half));
  return table;
}

function widenOne(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return (sign | 0x7f80_0000 | (fraction << 13)) >>> 0;
  if (exponent > 0) return (sign | ((exponent + 112) << 23) | (fraction << 13)) >>> 0;
  if (fraction === 0) return sign >>> 0;
  // Below the least normal float16, float32 can represent the value as a normal number.
  const shift = Math.clz32(fraction) - 21;
  return (sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)) >>> 0;
}

function halfOf(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) return sign | 0x7c00 | ((magnitude >> 13) & 0x3ff || 1);
  // At or above 65,520 the nearest float16 is infinity.
  if (magnitude >= 0x477f_f000) return sign | 0x7c00;
  if (magnitude >= 0x3880_0000) return sign | roundShift(magnitude - 0x3800_0000, 13);
  if (magnitude < 0x3300_0000) return sign;
  const exponent = magnitude >> 23;
  return sign | roundShift((magnitude & 0x7f_ffff) | 0x80_0000, 126 - exponent);
}

function brainOf(bits: number): number {
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) return (bits >>> 16) | ((bits >>> 16) & 0x7f ? 0 : 1);
  return (((bits >>> 31) << 15) | roundShift(magnitude, 16)) & 0xffff;
}

/** `value` without its last `shift` bits, rounded to nearest, ties to even. */
function roundShift(value: number, shift: number): number {
  const shifted = value >>> shift;
  const rest = value - shifted * 2 ** shift;
  const half = 2 ** (shift - 1);
  return rest > half || (rest === half && (shifted & 1) === 1) ? shifted + 1 : shifted;
}

function bitsOf(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length);
}
