import type { SeededRandom } from "./random.ts";
import { isFloat, type Tensor } from "./tensor.ts";

/** Adds independent Gaussian noise to every float of the tensors: the Gaussian mechanism, once the update is clipped. */
export function addNoise(tensors: readonly Tensor[], deviation: number, random: Pick<SeededRandom, "normal">): Tensor[] {
  return tensors.map((tensor) =>
    isFloat(tensor) ? { ...tensor, data: tensor.data.map((value: number) => value + deviation * random.normal()) } : tensor,
  );
}
