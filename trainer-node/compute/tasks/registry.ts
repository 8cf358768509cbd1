import { byteModelTask } from "./byte-model.ts";
import { cnnTask } from "./cnn.ts";
import { linearTask } from "./linear.ts";
import { logisticTask } from "./logistic.ts";
import { mlpTask } from "./mlp.ts";
import { softmaxTask } from "./softmax-task.ts";
import { statisticsTask } from "./statistics.ts";
import type { Task } from "./task.ts";
import { textClassifierTask, textEmbeddingTask } from "./text.ts";

/** Every task, in the order of /v1/info. */
export const TASKS: readonly Task[] = [
  ...[softmaxTask, linearTask, logisticTask, mlpTask, cnnTask],
  ...[textClassifierTask, textEmbeddingTask, byteModelTask],
  statisticsTask,
];

/** The names of all tasks. */
export const TASK_NAMES: readonly string[] = TASKS.map((task) => task.name);

/** The task of a name that the schema has checked. */
export function findTask(name: string): Task {
  const task = TASKS.find((candidate) => candidate.name === name);
  if (!task) throw new Error(`the schema let an unknown task through: ${name}`);
  return task;
}
