import type { ImageSize } from "./convolution.ts";
import type { LayerSpec } from "./layer.ts";

/** The maximum of every 2×2 pixels; an odd last row or column is dropped. */
export function maxPool({ height, width, channels }: ImageSize): LayerSpec {
  const [rowsOut, columnsOut] = [Math.floor(height / 2), Math.floor(width / 2)];
  const outputs = rowsOut * columnsOut * channels;
  const inputs = height * width * channels;
  return {
    outputs,
    tensors: [],
    scratch: (rows) => rows * (outputs + inputs) + 64,
    build: ({ kernels, batchRows }) => {
      const output = kernels.floats(batchRows * outputs);
      const inputGradient = kernels.floats(batchRows * inputs);
      const winners = new Int32Array(batchRows * outputs);
      return {
        forward: (input, { rows }) => {
          for (let at = 0; at < rows * outputs; at++) {
            const image = Math.floor(at / outputs);
            const pixel = Math.floor((at % outputs) / channels);
            const [y, x] = [2 * Math.floor(pixel / columnsOut), 2 * (pixel % columnsOut)];
            const corner = ((image * height + y) * width + x) * channels + (at % channels);
            let best = corner;
            for (const other of [corner + channels, corner + width * channels, corner + (width + 1) * channels]) {
              if ((input[other] as number) > (input[best] as number)) best = other;
            }
            winners[at] = best;
            output[at] = input[best] as number;
          }
          return output;
        },
        backward: (gradient, { rows }) => {
          inputGradient.fill(0, 0, rows * inputs);
          for (let at = 0; at < rows * outputs; at++) inputGradient[winners[at] as number] = gradient[at] as number;
          return inputGradient;
        },
      };
    },
  };
}
