import type { RowsData } from "../datasets/rows.ts";
import { InputProblem } from "../problem.ts";
import { dense } from "./network/dense.ts";
import { embedding } from "./network/embedding.ts";
import { argmax, softmaxLoss } from "./network/loss.ts";
import { relu } from "./network/relu.ts";
import { networkTask, sizeAt } from "./network-task.ts";
import type { Samples } from "./samples.ts";

const DEFAULTS = { context: 8, dimensions: 16, hidden: 128 } as const;
const BYTES = 256;
/** The token before the first byte of a text and after the last. */
const EDGE = 256;
const CONTINUATION_BYTES = 64;
const PROMPTS_MAX = 64;
const SAMPLES_MAX = 4_000_000;

/** A language model of bytes (after Bengio 2003): embeddings of the last bytes, a hidden layer, and the next byte as output. */
export const byteModelTask = networkTask({
  description: {
    name: "byte_lm",
    about: "byte-level language model; predict continues each text",
    rows: "texts",
    options: {
      context: `bytes of context, default ${DEFAULTS.context}`,
      dimensions: `length of a byte's vector, default ${DEFAULTS.dimensions}`,
      hidden: `[size of the hidden layer], default [${DEFAULTS.hidden}]`,
    },
    parameters: {
      named: [
        "bytes [257, dimensions]",
        "hidden.weight [context * dimensions, h]",
        "hidden.bias [h]",
        "output.weight [h, 257]",
        "output.bias [257]",
      ],
    },
    accuracy: "share of bytes predicted correctly",
  },
  loss: softmaxLoss,
  needsNoLabels: true,
  samples: (data, sizes) => windows(data, sizes["context"] ?? 1),
  freshSizes: (_data, options) => ({
    context: options.context ?? DEFAULTS.context,
    dimensions: options.dimensions ?? DEFAULTS.dimensions,
    hidden: options.hidden?.[0] ?? DEFAULTS.hidden,
    classes: BYTES + 1,
  }),
  sentSizes: (shapeOf) => {
    const dimensions = sizeAt(shapeOf("bytes"), 1);
    const inputs = sizeAt(shapeOf("hidden.weight"), 0);
    return {
      context: Math.max(1, Math.floor(inputs / Math.max(1, dimensions))),
      dimensions,
      hidden: sizeAt(shapeOf("hidden.weight"), 1),
      classes: BYTES + 1,
    };
  },
  layers: ({ context = 1, dimensions = 1, hidden = 1, classes }) => [
    embedding("bytes", { entries: BYTES + 1, width: dimensions, deviation: 0.1 }, { bag: false, length: context }),
    dense("hidden", { inputs: context * dimensions, outputs: hidden }),
    relu(hidden),
    dense("output", { inputs: hidden, outputs: classes, deviation: Math.sqrt(1 / hidden) }),
  ],
  writer: ({ network, sizes }) => {
    const step = network.stepper();
    const context = sizes["context"] ?? 1;
    return { context, next: (bytes) => step(Int32Array.from(lastOf(bytes, bytes.length, context))) };
  },
  predict: ({ network, sizes }, data) => {
    if (data.kind !== "texts" || data.rows > PROMPTS_MAX) {
      throw new InputProblem("VALIDATION_ERROR", `byte_lm continues at most ${PROMPTS_MAX} texts per call`);
    }
    const context = sizes["context"] ?? 1;
    const written = data.texts.map((text) => [...Buffer.from(text)]);
    const ended = new Set<number>();
    for (let step = 0; step < CONTINUATION_BYTES && ended.size < written.length; step++) {
      const ids = Int32Array.from(written.flatMap((bytes) => lastOf(bytes, bytes.length, context)));
      const starts = Int32Array.from({ length: written.length + 1 }, (_, row) => row * context);
      network.run({ rows: written.length, columns: 0, classes: sizes.classes, tokens: { ids, starts } }, (outputs, { first, rows }) => {
        for (let row = 0; row < rows; row++) {
          const next = argmax(outputs.subarray(row * sizes.classes, (row + 1) * sizes.classes));
          if (next === EDGE) ended.add(first + row);
          else if (!ended.has(first + row)) written[first + row]?.push(next);
        }
      });
    }
    return written.map((bytes) => ({ text: Buffer.from(bytes).toString("utf8") }));
  },
});

/** Every byte of every text as a sample: the bytes before it, and the byte itself. */
function windows(data: RowsData, context: number): Samples {
  if (data.kind !== "texts") throw new InputProblem("VALIDATION_ERROR", "this task takes rows of text");
  const texts = data.texts.map((text) => [...Buffer.from(text)]);
  const rows = texts.reduce((sum, bytes) => sum + bytes.length + 1, 0);
  if (rows > SAMPLES_MAX) throw new InputProblem("VALIDATION_ERROR", `the texts have ${rows} bytes; the limit is ${SAMPLES_MAX}`);
  const ids = new Int32Array(rows * context);
  const labels = new Int32Array(rows);
  let row = 0;
  for (const bytes of texts) {
    for (let at = 0; at <= bytes.length; at++, row++) {
      ids.set(lastOf(bytes, at, context), row * context);
      labels[row] = bytes[at] ?? EDGE;
    }
  }
  const starts = Int32Array.from({ length: rows + 1 }, (_, index) => index * context);
  return { rows, columns: 0, classes: BYTES + 1, labels, tokens: { ids, starts } };
}

function lastOf(bytes: readonly number[], end: number, context: number): number[] {
  return Array.from({ length: context }, (_, place) => bytes[end - context + place] ?? EDGE);
}
