import { type Batch, constant, type LayerSpec, normal } from "./layer.ts";

/** Looks up the table rows of the tokens: their mean ("bag"), or `length` of them in sequence ("sequence"). */
export function embedding(
  name: string,
  table: { entries: number; width: number; deviation: number },
  form: { bag: true } | { bag: false; length: number },
): LayerSpec {
  const { entries, width } = table;
  const outputs = form.bag ? width : width * form.length;
  return {
    outputs,
    tensors: [{ name, shape: [entries, width], initial: table.deviation === 0 ? constant(0) : normal(table.deviation) }],
    scratch: (rows) => rows * outputs + 64,
    build: ({ kernels, weights, gradients, batchRows }) => {
      const [weight] = weights as [Float32Array];
      const [weightGradient] = gradients as [Float32Array];
      const output = kernels.floats(batchRows * outputs);
      /** Visits every token with the index of its table row, its index in the output, and its share of the output. */
      const eachToken = ({ rows, tokens }: Batch, visit: (entry: number, place: number, share: number) => void): void => {
        for (let row = 0; row < rows; row++) {
          const ids = tokens[row] as Int32Array;
          const share = form.bag ? 1 / Math.max(1, ids.length) : 1;
          ids.forEach((id, place) => {
            visit(id * width, row * outputs + (form.bag ? 0 : place * width), share);
          });
        }
      };
      return {
        forward: (_input, batch) => {
          output.fill(0, 0, batch.rows * outputs);
          eachToken(batch, (entry, place, share) => addScaled(output, place, weight, entry, width, share));
          return output;
        },
        backward: (gradient, batch) => {
          eachToken(batch, (entry, place, share) => addScaled(weightGradient, entry, gradient, place, width, share));
          return undefined;
        },
      };
    },
  };
}

function addScaled(target: Float32Array, to: number, source: Float32Array, from: number, count: number, factor: number): void {
  for (let index = 0; index < count; index++)
    target[to + index] = (target[to + index] as number) + factor * (source[from + index] as number);
}
