import type { SortedReduce } from "../clients/vectors.ts";

/** The mean of the sorted rows `first` to `last`, inclusive, summed upwards in float64. */
export function meanOfRows(first: number, last: number): SortedReduce {
  const count = last - first + 1;
  return (rows, stride, out) => {
    if (count === 1) {
      out.set(rows.subarray(first * stride, first * stride + out.length));
      return;
    }
    for (let column = 0; column < out.length; column++) {
      let total = 0;
      for (let row = first; row <= last; row++) total += (rows[row * stride + column] as number) / count;
      out[column] = total;
    }
  };
}
