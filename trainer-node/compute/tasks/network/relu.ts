import type { LayerSpec } from "./layer.ts";

/** max(x, 0), in place: the layer below has no more use for what it gave. */
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
