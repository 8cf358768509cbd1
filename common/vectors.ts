/** Scales a vector to length 1, so that a product of two is the cosine of their angle. */
export function unit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}

/** The product of a vector and the numbers of a longer list from `start` on. */
export function product(vector: Float32Array, others: Float32Array, start = 0): number {
  let sum = 0;
  for (let place = 0; place < vector.length; place++) sum += (vector[place] as number) * (others[start + place] as number);
  return sum;
}
