import type { RowsData } from "../datasets/rows.ts";
import { InputProblem } from "../problem.ts";
import { bias } from "./network/bias.ts";
import { dense } from "./network/dense.ts";
import { embedding } from "./network/embedding.ts";
import { argmax, softmaxLoss } from "./network/loss.ts";
import { createNetwork } from "./network/network.ts";
import { classesOf, networkTask, refuseLabels, type Sizes, sizeAt } from "./network-task.ts";
import { hashedNgrams } from "./ngrams.ts";
import type { Samples } from "./samples.ts";
import type { Prediction } from "./task.ts";

const BUCKETS_DEFAULT = 2 ** 14;
const DIMENSIONS_DEFAULT = 32;
const OPTIONS = {
  buckets: `rows of the table that n-grams are hashed to, default ${BUCKETS_DEFAULT}`,
  classes: "number of classes; the largest label + 1 if absent",
};

/** Softmax regression on hashed n-grams. */
export const textClassifierTask = networkTask({
  description: {
    name: "text_classifier",
    about: "text classifier on hashed n-grams",
    rows: "texts",
    options: OPTIONS,
    parameters: { named: ["ngrams [buckets, classes]", "output.bias [classes]"] },
    accuracy: "share of texts labeled correctly",
  },
  loss: softmaxLoss,
  samples: ngramSamples,
  freshSizes: (data, options) => ({ buckets: options.buckets ?? BUCKETS_DEFAULT, classes: classesOf(data, options) }),
  sentSizes: (shapeOf) => ({ buckets: sizeAt(shapeOf("ngrams"), 0), classes: sizeAt(shapeOf("ngrams"), 1) }),
  predict: ({ network, sizes }, data) => {
    const predictions: Prediction[] = [];
    network.run(ngramSamples(data, sizes), (outputs, { rows }) => {
      for (let row = 0; row < rows; row++) {
        const scores = softmaxLoss.scores(outputs.subarray(row * sizes.classes, (row + 1) * sizes.classes));
        predictions.push({ label: argmax(scores), scores });
      }
    });
    return predictions;
  },
  layers: ({ buckets = 0, classes }) => [
    embedding("ngrams", { entries: buckets, width: classes, deviation: 0 }, { bag: true }),
    bias("output.bias", classes),
  ],
});

/** An embedding of texts, learned by classifying their labels (as in fastText). A prediction is the vector, of length 1. */
export const textEmbeddingTask = networkTask({
  description: {
    name: "text_embedding",
    about: "text embedding: the mean of n-gram vectors, learned with a classifier on top; predict returns the vector",
    rows: "texts",
    options: { ...OPTIONS, dimensions: `length of a vector, default ${DIMENSIONS_DEFAULT}` },
    parameters: { named: ["ngrams [buckets, dimensions]", "output.weight [dimensions, classes]", "output.bias [classes]"] },
    accuracy: "share of texts that the classifier on top labels correctly",
  },
  loss: softmaxLoss,
  samples: ngramSamples,
  freshSizes: (data, options) => ({
    buckets: options.buckets ?? BUCKETS_DEFAULT,
    dimensions: options.dimensions ?? DIMENSIONS_DEFAULT,
    classes: classesOf(data, options),
  }),
  sentSizes: (shapeOf) => ({
    buckets: sizeAt(shapeOf("ngrams"), 0),
    dimensions: sizeAt(shapeOf("ngrams"), 1),
    classes: sizeAt(shapeOf("output.weight"), 1),
  }),
  layers: (sizes) => [tableOf(sizes), dense("output", { inputs: sizes["dimensions"] ?? 0, outputs: sizes.classes, deviation: 0.1 })],
  predict: ({ network, sizes }, data) => {
    const table = createNetwork({ layers: [tableOf(sizes)], loss: softmaxLoss, start: { tensors: network.tensors() } });
    const width = sizes["dimensions"] ?? 0;
    const predictions: Prediction[] = [];
    table.run(ngramSamples(data, sizes), (outputs, { rows }) => {
      for (let row = 0; row < rows; row++) predictions.push({ vector: unit(outputs.subarray(row * width, (row + 1) * width)) });
    });
    return predictions;
  },
});

function tableOf({ buckets = 0, dimensions = 0 }: Sizes) {
  return embedding("ngrams", { entries: buckets, width: dimensions, deviation: 0.1 }, { bag: true });
}

function unit(values: Float32Array): number[] {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return Array.from(values, (value) => (length === 0 ? 0 : value / length));
}

function ngramSamples(data: RowsData, sizes: Sizes): Samples {
  if (data.kind !== "texts") throw new InputProblem("VALIDATION_ERROR", "this task takes rows of text with a class as label");
  refuseLabels(data.labels, sizes.classes);
  const lists = data.texts.map((text) => hashedNgrams(text, sizes["buckets"] ?? 1));
  const starts = new Int32Array(data.rows + 1);
  lists.forEach((list, row) => {
    starts[row + 1] = (starts[row] as number) + list.length;
  });
  return {
    rows: data.rows,
    columns: 0,
    classes: sizes.classes,
    labels: data.labels,
    tokens: { ids: Int32Array.from(lists.flat()), starts },
  };
}
