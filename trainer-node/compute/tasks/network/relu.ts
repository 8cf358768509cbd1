import type { LayerSpec } from "./layer.ts";

/** max(x, 0), in place, because the layer below no longer needs its output. */
export function relu(size: number): LayerSpec {
  return {
    outputs: size,
    tensors: [],
    scratch: () => 0,
    build: ({ kernels }) => {
      let output: Float32Array = new Float32Array(0);
      return {
        forward: (values, { rows }) => {
          output = values.subarray(0, rows * size);
          kernels.relu(output);
          return values;
        },
        backward: (gradient, { rows }) => {
          kernels.reluBackward(gradient.subarray(0, rows * size), output);
          return gradient;
        },
      };
    },
  };
}
