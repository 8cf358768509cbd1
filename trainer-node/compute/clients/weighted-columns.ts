import type { Floats } from "../tensor.ts";

/** A block of columns as clients have it, and sorted. Rows have `stride` elements from one to the next. */
interface SortedBlock {
  readonly given: Floats;
  readonly sorted: Floats;
  readonly stride: number;
}

/** Of the sorted values of each column, the least at or below which half of the weight is. Weights are summed in the order of clients. */
export function reduceByWeight({ given, sorted, stride }: SortedBlock, weights: readonly number[], out: Floats): void {
  const half = weights.reduce((sum, weight) => sum + weight, 0) / 2;
  for (let column = 0; column < out.length; column++) {
    let [low, high] = [0, weights.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const value = sorted[middle * stride + column] as number;
      let below = 0;
      for (let row = 0; row < weights.length; row++) if ((given[row * stride + column] as number) <= value) below += weights[row] as number;
      if (below >= half) high = middle;
      else low = middle + 1;
    }
    out[column] = sorted[low * stride + column] as number;
  }
}
