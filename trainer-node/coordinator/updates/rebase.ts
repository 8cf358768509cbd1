import { decodeParameters, encodeParameters } from "../../codec/parameters.ts";
import { type Floats, isFloat, type Tensor } from "../../compute/tensor.ts";

/**
 * Rebases an update on the current parameters: `head + factor · (update - base)`. So updates of different rounds can be averaged. Without
 * base and head, both are zero. Tensors of integers stay as in the update.
 */
export function rebaseUpdate({
  update,
  base,
  head,
  factor,
}: {
  update: Uint8Array;
  base: Uint8Array | undefined;
  head: Uint8Array | undefined;
  factor: number;
}): Uint8Array {
  const { format, tensors } = decodeParameters(update);
  const from = base && byName(base);
  const onto = head && byName(head);
  const moved = tensors.map((tensor) => {
    if (!isFloat(tensor)) return tensor;
    const [began, now] = [floatsOf(from, tensor), floatsOf(onto, tensor)];
    const data = tensor.data.map((value, index) => (now[index] ?? 0) + factor * (value - (began[index] ?? 0)));
    return { ...tensor, data } as Tensor;
  });
  return encodeParameters(moved, format);
}

function byName(bytes: Uint8Array): ReadonlyMap<string, Tensor> {
  return new Map(decodeParameters(bytes).tensors.map((tensor) => [tensor.name, tensor]));
}

function floatsOf(tensors: ReadonlyMap<string, Tensor> | undefined, { name, data: { length } }: Tensor): Floats {
  if (!tensors) return new Float64Array(length);
  const found = tensors.get(name);
  if (!found || !isFloat(found) || found.data.length !== length)
    throw new Error(`tensor "${name}" differs from the parameters that the update was trained from`);
  return found.data;
}
