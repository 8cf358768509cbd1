import { dense } from "./network/dense.ts";
import { logisticLoss } from "./network/loss.ts";
import { columnsOf, labeledSamples, networkTask, sizeAt } from "./network-task.ts";

/** Logistic regression of two classes, with one output. */
export const logisticTask = networkTask({
  description: {
    name: "logistic",
    about: "logistic regression of the classes 0 and 1",
    rows: "labelled",
    options: {},
    parameters: { named: ["logistic.weight [columns, 1]", "logistic.bias [1]"] },
    columnsOf: (shapeOf) => sizeAt(shapeOf("logistic.weight"), 0),
    accuracy: "share of rows labeled correctly",
  },
  loss: logisticLoss,
  samples: labeledSamples,
  freshSizes: (data) => ({ classes: 2, columns: columnsOf(data) }),
  sentSizes: (_shapeOf, data) => ({ classes: 2, columns: columnsOf(data) }),
  layers: ({ columns = 0 }) => [dense("logistic", { inputs: columns, outputs: 1, deviation: 0.01 })],
});
