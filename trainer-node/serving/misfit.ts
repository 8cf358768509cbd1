import { splitControls } from "../compute/control-variates.ts";
import type { RowsData } from "../compute/datasets/rows.ts";
import { InputProblem } from "../compute/problem.ts";
import { findTask } from "../compute/tasks/registry.ts";
import { isFloatType, type Tensor, type TensorHeader } from "../compute/tensor.ts";

/**
 * Why a task cannot serve tensors with these names, types and shapes; undefined if it can. It opens a model as serving does, for rows as
 * wide as the model, with no numbers in the tensors.
 */
export function misfit(taskName: string, headers: readonly TensorHeader[]): InputProblem | undefined {
  const task = findTask(taskName);
  const { model } = splitControls(headers.map(withoutNumbers));
  const columns = task.columnsOf?.((name) => model.find((tensor) => tensor.name === name)?.shape ?? []) ?? 1;
  try {
    task.open({ tensors: model, data: noRows(task.rows, columns), options: {}, single: model.length === 1, seed: 0 });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof InputProblem) return thrown;
    throw thrown;
  }
}

function withoutNumbers({ name, dtype, shape }: TensorHeader): Tensor {
  return isFloatType(dtype) ? { name, dtype, shape, data: new Float32Array(0) } : { name, dtype, shape, data: new Uint8Array(0) };
}

function noRows(kind: RowsData["kind"], columns: number): RowsData {
  const [features, labels] = [new Float32Array(0), new Int32Array(0)];
  switch (kind) {
    case "labelled":
      return { kind, dataset: { rows: 0, columns, classes: 0, features, labels } };
    case "valued":
      return { kind, rows: 0, columns, features, targets: features };
    case "texts":
      return { kind, rows: 0, texts: [], labels, labeled: false, classes: 0 };
  }
}
