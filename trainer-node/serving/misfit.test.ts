import type { RowsData } from "../compute/datasets/rows.ts";
import { TASKS } from "../compute/tasks/registry.ts";
import { misfit } from "./misfit.ts";

const features = Float32Array.from({ length: 2 * 100 }, (_, index) => index / 200);
const labels = Int32Array.of(0, 1);
const ROWS: { readonly [kind in RowsData["kind"]]: RowsData } = {
  labelled: { kind: "labelled", dataset: { rows: 2, columns: 100, classes: 2, features, labels } },
  valued: { kind: "valued", rows: 2, columns: 100, features, targets: Float32Array.of(0, 1) },
  texts: { kind: "texts", rows: 2, texts: ["a", "b"], labels, labeled: true, classes: 2 },
};
const served = TASKS.filter(({ sums }) => !sums);
const tensorsOf = (task: (typeof TASKS)[number]) =>
  task.open({ tensors: undefined, data: ROWS[task.rows], options: {}, single: false, seed: 1 }).tensors();

test.each(served.map((task) => [task.name, task] as const))(
  "a model of the task %s can be served, with control variates too",
  (name, task) => {
    const tensors = tensorsOf(task).map((tensor) => ({ name: tensor.name, dtype: tensor.dtype, shape: tensor.shape }));
    expect(misfit(name, tensors)).toBeUndefined();
    expect(misfit(name, [...tensors, ...tensors.map((tensor) => ({ ...tensor, name: `control:${tensor.name}` }))])).toBeUndefined();
  },
);

test.each(served.map((task) => [task.name, task] as const))(
  "tensors of another shape, type or name are not a model of %s",
  (name, task) => {
    const [first, ...rest] = tensorsOf(task);
    if (!first) throw new Error("a model without tensors");
    expect(misfit(name, [{ ...first, shape: [3] }, ...rest])).toMatchObject({ kind: "SHAPE_MISMATCH" });
    expect(misfit(name, [{ ...first, dtype: "i32" }, ...rest])).toMatchObject({ kind: "DTYPE_MISMATCH" });
    expect(misfit(name, [{ ...first, name: "w" }, ...rest])).toMatchObject({ kind: "SHAPE_MISMATCH" });
    expect(misfit(name, [])).toMatchObject({ kind: "SHAPE_MISMATCH" });
  },
);
