import { InputProblem } from "../problem.ts";
import { dense } from "./network/dense.ts";
import { squaredLoss } from "./network/loss.ts";
import { columnsOf, networkTask, sizeAt } from "./network-task.ts";

/** Linear regression on half the squared error. */
export const linearTask = networkTask({
  description: {
    name: "linear",
    about: "linear regression",
    rows: "valued",
    options: {},
    parameters: { named: ["linear.weight [columns, 1]", "linear.bias [1]"] },
    columnsOf: (shapeOf) => sizeAt(shapeOf("linear.weight"), 0),
    accuracy: "coefficient of determination R², at least 0",
  },
  loss: squaredLoss,
  samples: (data) => {
    if (data.kind !== "valued") throw new InputProblem("VALIDATION_ERROR", "this task takes rows of numbers with a number as target");
    return { rows: data.rows, columns: data.columns, classes: 1, features: data.features, targets: data.targets };
  },
  freshSizes: (data) => ({ classes: 1, columns: columnsOf(data) }),
  sentSizes: (_shapeOf, data) => ({ classes: 1, columns: columnsOf(data) }),
  layers: ({ columns = 0 }) => [dense("linear", { inputs: columns, outputs: 1, deviation: 0.01 })],
  score: (outputs, { rows, targets = new Float32Array(0) }) => {
    const mean = targets.reduce((sum, value) => sum + value, 0) / rows;
    let [error, spread] = [0, 0];
    for (let row = 0; row < rows; row++) {
      error += ((outputs[row] as number) - (targets[row] as number)) ** 2;
      spread += ((targets[row] as number) - mean) ** 2;
    }
    return { accuracy: spread === 0 ? (error === 0 ? 1 : 0) : Math.max(0, 1 - error / spread), loss: error / 2 / rows };
  },
});
