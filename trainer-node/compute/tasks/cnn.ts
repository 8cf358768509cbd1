import type { RowsData } from "../datasets/rows.ts";
import { InputProblem } from "../problem.ts";
import { convolution } from "./network/convolution.ts";
import { dense } from "./network/dense.ts";
import { softmaxLoss } from "./network/loss.ts";
import { maxPool } from "./network/pool.ts";
import { relu } from "./network/relu.ts";
import { classesOf, columnsOf, labeledSamples, networkTask, sizeAt } from "./network-task.ts";

const FILTERS_DEFAULT = 8;
const SIDE = { min: 4, max: 256 } as const;

/** Two 3×3 convolutions with ReLU and 2×2 pooling, then one dense layer. Rows are square grayscale images. */
export const cnnTask = networkTask({
  description: {
    name: "cnn",
    about: "small convolutional network; a row is a square image of one channel",
    rows: "labelled",
    options: {
      filters: "filters of the first convolution, default 8; the second has twice as many",
      classes: "number of classes; the largest label + 1 if absent",
    },
    parameters: {
      named: [
        "conv1.weight [3, 3, 1, f]",
        "conv1.bias [f]",
        "conv2.weight [3, 3, f, 2f]",
        "conv2.bias [2f]",
        "output.weight [pixels / 16 * 2f, classes]",
        "output.bias [classes]",
      ],
    },
    columnsOf: (shapeOf) => pixelsFor(sizeAt(shapeOf("output.weight"), 0) / (2 * sizeAt(shapeOf("conv1.weight"), 3))),
    accuracy: "share of rows labeled correctly",
  },
  loss: softmaxLoss,
  samples: labeledSamples,
  freshSizes: (data, options) => ({ side: sideOf(data), filters: options.filters ?? FILTERS_DEFAULT, classes: classesOf(data, options) }),
  sentSizes: (shapeOf, data) => ({
    side: sideOf(data),
    filters: sizeAt(shapeOf("conv1.weight"), 3),
    classes: sizeAt(shapeOf("output.weight"), 1),
  }),
  layers: ({ side = 0, filters = 0, classes }) => {
    const image = { height: side, width: side, channels: 1 };
    const half = { height: Math.floor(side / 2), width: Math.floor(side / 2), channels: filters };
    const quarter = Math.floor(half.height / 2);
    const inputs = quarter * quarter * 2 * filters;
    return [
      convolution("conv1", image, filters),
      relu(side * side * filters),
      maxPool({ ...image, channels: filters }),
      convolution("conv2", half, 2 * filters),
      relu(half.height * half.width * 2 * filters),
      maxPool({ ...half, channels: 2 * filters }),
      dense("output", { inputs, outputs: classes, deviation: Math.sqrt(1 / inputs) }),
    ];
  },
});

/** The pixels of the smallest image of which pooling leaves so many. */
function pixelsFor(pooled: number): number {
  const side = Math.round(Math.sqrt(pooled)) * 4;
  return Math.min(Math.max(side || 0, SIDE.min), SIDE.max) ** 2;
}

function sideOf(data: RowsData): number {
  const side = Math.sqrt(columnsOf(data));
  if (!Number.isInteger(side) || side < SIDE.min || side > SIDE.max) {
    throw new InputProblem(
      "SHAPE_MISMATCH",
      `task cnn takes square images of ${SIDE.min} to ${SIDE.max} pixels a side; the rows have ${columnsOf(data)} columns`,
      {
        columns: columnsOf(data),
      },
    );
  }
  return side;
}
