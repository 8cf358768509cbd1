import { addRows, transpose } from "./dense.ts";
import { constant, type LayerSpec, normal } from "./layer.ts";

/** The size of an image. */
export interface ImageSize {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
}

const KERNEL = 3;

/** A 3×3 convolution with zero padding, channels last: every patch becomes a row of a matrix, followed by one matrix product. */
export function convolution(name: string, image: ImageSize, filters: number): LayerSpec {
  const { height, width, channels } = image;
  const pixels = height * width;
  const patch = KERNEL * KERNEL * channels;
  return {
    outputs: pixels * filters,
    tensors: [
      { name: `${name}.weight`, shape: [KERNEL, KERNEL, channels, filters], initial: normal(Math.sqrt(2 / patch)) },
      { name: `${name}.bias`, shape: [filters], initial: constant(0) },
    ],
    scratch: (rows) => rows * pixels * (2 * patch + filters + channels) + patch * filters + 64,
    build: ({ kernels, weights, gradients, batchRows }) => {
      const [weight, bias] = weights as [Float32Array, Float32Array];
      const [weightGradient, biasGradient] = gradients as [Float32Array, Float32Array];
      const patches = kernels.floats(batchRows * pixels * patch);
      const patchGradients = kernels.floats(batchRows * pixels * patch);
      const output = kernels.floats(batchRows * pixels * filters);
      const inputGradient = kernels.floats(batchRows * pixels * channels);
      const transposed = kernels.floats(patch * filters);
      return {
        forward: (input, { rows }) => {
          eachPatch(image, rows, (from, to) => {
            if (from < 0) patches.fill(0, to, to + channels);
            else for (let channel = 0; channel < channels; channel++) patches[to + channel] = input[from + channel] as number;
          });
          for (let pixel = 0; pixel < rows * pixels; pixel++) output.set(bias, pixel * filters);
          kernels.gemm(output, patches, weight, { rows: rows * pixels, columns: filters, inner: patch });
          return output;
        },
        backward: (gradient, { rows }, wanted) => {
          kernels.gemm(weightGradient, patches, gradient, { rows: patch, columns: filters, inner: rows * pixels, transposed: true });
          addRows(biasGradient, gradient, rows * pixels);
          if (!wanted) return undefined;
          transpose(transposed, weight, patch, filters);
          patchGradients.fill(0, 0, rows * pixels * patch);
          kernels.gemm(patchGradients, gradient, transposed, { rows: rows * pixels, columns: patch, inner: filters });
          inputGradient.fill(0, 0, rows * pixels * channels);
          eachPatch(image, rows, (to, from) => {
            if (to < 0) return;
            for (let channel = 0; channel < channels; channel++) {
              inputGradient[to + channel] = (inputGradient[to + channel] as number) + (patchGradients[from + channel] as number);
            }
          });
          return inputGradient;
        },
      };
    },
  };
}

/** Visits every element of every patch, with its index in the images (-1 outside) and in the matrix of patches. */
function eachPatch({ height, width, channels }: ImageSize, images: number, visit: (image: number, patch: number) => void): void {
  const pixels = height * width;
  let patch = 0;
  for (let pixel = 0; pixel < images * pixels; pixel++) {
    const image = Math.floor(pixel / pixels);
    const [y, x] = [Math.floor((pixel % pixels) / width), pixel % width];
    for (let cell = 0; cell < KERNEL * KERNEL; cell++) {
      const [row, column] = [y + Math.floor(cell / KERNEL) - 1, x + (cell % KERNEL) - 1];
      const inside = row >= 0 && row < height && column >= 0 && column < width;
      visit(inside ? ((image * height + row) * width + column) * channels : -1, patch);
      patch += channels;
    }
  }
}
