import { addRows } from "./dense.ts";
import { constant, type LayerSpec } from "./layer.ts";

/** Adds one number to each output, in place. */
export function bias(name: string, outputs: number): LayerSpec {
  return {
    outputs,
    tensors: [{ name, shape: [outputs], initial: constant(0) }],
    scratch: () => 0,
    build: ({ weights, gradients }) => {
      const [values] = weights as [Float32Array];
      const [valueGradients] = gradients as [Float32Array];
      return {
        forward: (input, { rows }) => {
          for (let at = 0; at < rows * outputs; at++) input[at] = (input[at] as number) + (values[at % outputs] as number);
          return input;
        },
        backward: (gradient, { rows }) => {
          addRows(valueGradients, gradient, rows);
          return gradient;
        },
      };
    },
  };
}
