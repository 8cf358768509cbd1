import { dense } from "./network/dense.ts";
import type { LayerSpec } from "./network/layer.ts";
import { softmaxLoss } from "./network/loss.ts";
import { relu } from "./network/relu.ts";
import { classesOf, columnsOf, labeledSamples, networkTask, type Sizes, sizeAt } from "./network-task.ts";

const HIDDEN_DEFAULT = [128];
const LAYERS_MAX = 8;

/** Fully connected layers with ReLU between them. */
export const mlpTask = networkTask({
  description: {
    name: "mlp",
    about: "multi-layer perceptron with ReLU",
    rows: "labelled",
    options: { hidden: "sizes of the hidden layers, default [128]", classes: "number of classes; the largest label + 1 if absent" },
    parameters: {
      named: ["hidden1.weight [columns, h1]", "hidden1.bias [h1]", "...", "output.weight [h, classes]", "output.bias [classes]"],
    },
    columnsOf: (shapeOf) => sizeAt(shapeOf("hidden1.weight"), 0),
    accuracy: "share of rows labeled correctly",
  },
  loss: softmaxLoss,
  samples: labeledSamples,
  freshSizes: (data, options) => ({
    ...numbered(options.hidden ?? HIDDEN_DEFAULT),
    classes: classesOf(data, options),
    columns: columnsOf(data),
  }),
  sentSizes: (shapeOf, data) => {
    const hidden = Array.from({ length: LAYERS_MAX }, (_, index) => sizeAt(shapeOf(`hidden${index + 1}.weight`), 1));
    return {
      ...numbered(hidden.slice(0, Math.max(1, hidden.indexOf(0)))),
      classes: sizeAt(shapeOf("output.weight"), 1),
      columns: columnsOf(data),
    };
  },
  layers: (sizes) => {
    const layers: LayerSpec[] = [];
    let inputs = sizes["columns"] ?? 0;
    for (const [index, outputs] of hiddenOf(sizes).entries()) {
      layers.push(dense(`hidden${index + 1}`, { inputs, outputs }), relu(outputs));
      inputs = outputs;
    }
    return [...layers, dense("output", { inputs, outputs: sizes.classes, deviation: Math.sqrt(1 / inputs) })];
  },
});

function numbered(hidden: readonly number[]): Record<string, number> {
  return Object.fromEntries(hidden.map((size, index) => [`hidden${index}`, size]));
}

function hiddenOf(sizes: Sizes): number[] {
  return Array.from({ length: LAYERS_MAX }, (_, index) => sizes[`hidden${index}`] ?? 0).filter((size) => size > 0);
}
