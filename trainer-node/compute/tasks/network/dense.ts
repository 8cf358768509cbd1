import { constant, type LayerSpec, normal } from "./layer.ts";

/** output = input · weight + bias. */
export function dense(name: string, size: { inputs: number; outputs: number; deviation?: number }): LayerSpec {
  const { inputs, outputs } = size;
  return {
    outputs,
    tensors: [
      { name: `${name}.weight`, shape: [inputs, outputs], initial: normal(size.deviation ?? Math.sqrt(2 / inputs)) },
      { name: `${name}.bias`, shape: [outputs], initial: constant(0) },
    ],
    scratch: (rows) => rows * (inputs + outputs) + inputs * outputs + 64,
    build: ({ kernels, weights, gradients, batchRows }) => {
      const [weight, bias] = weights as [Float32Array, Float32Array];
      const [weightGradient, biasGradient] = gradients as [Float32Array, Float32Array];
      const output = kernels.floats(batchRows * outputs);
      const inputGradient = kernels.floats(batchRows * inputs);
      const transposed = kernels.floats(inputs * outputs);
      let input: Float32Array = inputGradient;
      return {
        forward: (values, { rows }) => {
          input = values;
          for (let row = 0; row < rows; row++) output.set(bias, row * outputs);
          kernels.gemm(output, input, weight, { rows, columns: outputs, inner: inputs });
          return output;
        },
        backward: (gradient, { rows }, wanted) => {
          kernels.gemm(weightGradient, input, gradient, { rows: inputs, columns: outputs, inner: rows, transposed: true });
          addRows(biasGradient, gradient, rows);
          if (!wanted) return undefined;
          transpose(transposed, weight, inputs, outputs);
          inputGradient.fill(0, 0, rows * inputs);
          kernels.gemm(inputGradient, gradient, transposed, { rows, columns: inputs, inner: outputs });
          return inputGradient;
        },
      };
    },
  };
}

/** Adds all rows to a sum. */
export function addRows(sum: Float32Array, values: Float32Array, rows: number): void {
  const columns = sum.length;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) sum[column] = (sum[column] as number) + (values[row * columns + column] as number);
  }
}

/** Writes the transpose of a matrix. */
export function transpose(target: Float32Array, source: Float32Array, rows: number, columns: number): void {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) target[column * rows + row] = source[row * columns + column] as number;
  }
}
