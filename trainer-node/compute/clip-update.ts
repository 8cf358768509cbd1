import { type Floats, isFloat, type Tensor } from "./tensor.ts";

/** Limits the distance of the trained tensors from the start to `limit`: before + (after - before) · min(1, limit / length). */
export function clipUpdate(before: readonly Tensor[], after: readonly Tensor[], limit: number): Tensor[] {
  const pairs = after.map((tensor, index) => ({ tensor, start: before[index]?.data as Floats }));
  let squared = 0;
  for (const { tensor, start } of pairs) {
    if (!isFloat(tensor)) continue;
    for (let index = 0; index < tensor.data.length; index++) squared += ((tensor.data[index] as number) - (start[index] as number)) ** 2;
  }
  const factor = limit / Math.sqrt(squared);
  if (!(factor < 1)) return [...after];
  return pairs.map(({ tensor, start }) => {
    if (!isFloat(tensor)) return tensor;
    const data = tensor.data.map((value: number, index: number) => (start[index] as number) + factor * (value - (start[index] as number)));
    return { ...tensor, data };
  });
}
