import { labeledOf } from "../datasets/rows.ts";
import { InputProblem } from "../problem.ts";
import { predictSoftmax, scoreSoftmax, trainSoftmax } from "./softmax.ts";
import { initialModel, readModel, type SoftmaxModel, writeModel } from "./softmax-model.ts";
import type { Learner, Task } from "./task.ts";

/** Softmax regression in float64: the default task. */
export const softmaxTask: Task = {
  name: "softmax",
  about: "softmax regression",
  rows: "labelled",
  options: { classes: "number of classes of a new model; the largest label + 1 if absent" },
  parameters: {
    named: ["weight [columns, classes]", "bias [classes]"],
    stacked: "one tensor [columns + 1, classes], its last row the bias (npy)",
  },
  accuracy: "share of rows labeled correctly",
  open: ({ tensors, data, options, single, seed }) => {
    const { columns, classes } = labeledOf(data);
    const layout = single ? "stacked" : "named";
    return learner(
      tensors ? readModel(tensors) : initialModel({ columns, classes: Math.max(classes, options.classes ?? 0), layout, seed }),
    );
  },
};

function learner(start: SoftmaxModel): Learner {
  let model = start;
  return {
    train: (data, settings, onEpoch) => {
      if (settings.optimizer !== "sgd") {
        throw new InputProblem("VALIDATION_ERROR", "task softmax supports the optimizer sgd only", { field: "config.optimizer" });
      }
      const trained = trainSoftmax(model, labeledOf(data), { ...settings, onEpoch });
      model = trained.model;
      return trained.steps;
    },
    score: (data) => scoreSoftmax(model, labeledOf(data)),
    predict: (data) => predictSoftmax(model, labeledOf(data)),
    tensors: () => writeModel(model),
  };
}
