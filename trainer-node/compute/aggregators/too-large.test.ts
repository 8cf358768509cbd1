import type { FloatType, Tensor } from "../tensor.ts";
import { aggregateTensors, f32 } from "./aggregate-harness.ts";

const narrow = (dtype: FloatType, ...values: number[]): Tensor[] => [
  { name: "w", dtype, shape: [values.length], data: Float32Array.from(values) },
];
const refusal = (tensor: string, element: number, what = "result") =>
  expect.objectContaining({
    kind: "NON_FINITE",
    message: `the ${what} has a NaN or infinity in tensor "${tensor}"; the inputs or settings are too large`,
    details: { tensor, element },
  });

test.each(["fedadam", "fedyogi", "fedadagrad"])("%s refuses an update whose square its state cannot hold", (strategy) => {
  const made = (value: number) => () => aggregateTensors({ strategy, clients: [[f32([0.5, value])]], base: [f32([0, 0])] });
  expect(made(1e21)).toThrow(refusal("second/w", 1, "strategy's state"));
  const { tensors, state } = made(1e18)();
  expect(() => aggregateTensors({ strategy, clients: [[f32([0.5, 1e18])]], base: tensors, state })).not.toThrow();
});

test.each<[FloatType, number, number]>([
  ["f16", 65_504, 65_520],
  ["bf16", (2 - 2 ** -7) * 2 ** 127, (2 - 2 ** -8) * 2 ** 127],
])("a result of %s is written up to %d, and refused from %d, which would be infinite there", (dtype, largest, tooLarge) => {
  const stepped = (lr: number, step: number) => () =>
    aggregateTensors({ strategy: "fedavgm", clients: [narrow(dtype, 1, step)], base: narrow(dtype, 1, 0), settings: { lr, momentum: 0 } });
  expect(stepped(1, largest)().tensors[0]?.data[1]).toBe(largest);
  expect(stepped(1, -largest)().tensors[0]?.data[1]).toBe(-largest);
  const half = tooLarge / 2;
  expect(stepped(2, half)).toThrow(refusal("w", 1));
  expect(stepped(2, -half)).toThrow(refusal("w", 1));
});
