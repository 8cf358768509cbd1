/** Scales a vector to length 1, so that a product of two is the cosine of their angle. */
export function unit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}

/** The product of a vector and the numbers of a longer list from `start` on. Four sums, because one addition would wait for the last. */
export function product(vector: Float32Array, others: Float32Array, start = 0): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  const whole = vector.length - (vector.length % 4);
  for (let place = 0; place < whole; place += 4) {
    first += (vector[place] as number) * (others[start + place] as number);
    second += (vector[place + 1] as number) * (others[start + place + 1] as number);
    third += (vector[place + 2] as number) * (others[start + place + 2] as number);
    fourth += (vector[place + 3] as number) * (others[start + place + 3] as number);
  }
  for (let place = whole; place < vector.length; place++) first += (vector[place] as number) * (others[start + place] as number);
  return first + second + third + fourth;
}
