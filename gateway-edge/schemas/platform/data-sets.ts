import { z } from "zod";
import { NAME_BYTES_MAX } from "../../../common/training/dataset-place.ts";
import { plainText } from "../fields.ts";
import { listOf } from "../records.ts";
import { EPSILON_IS } from "./epsilon.ts";

export const dataSetBudgetBody = z.strictObject({
  /** The name of a data set: "digits", a URL, or the node's own name for it. */
  name: plainText(2048).refine((name) => Buffer.byteLength(name) <= NAME_BYTES_MAX, `must have at most ${NAME_BYTES_MAX} bytes`),
  /** Null removes the budget. */
  epsilonBudget: z.number().positive("must be above 0").max(1e6).nullable(),
  /** The delta that epsilon is computed for; 1e-5 by default. */
  delta: z.number().gt(0, "must be above 0").lt(1, "must be below 1").optional(),
});

const dataSetRecord = z
  .object({
    name: z.string(),
    epsilon: z.number().meta({ description: EPSILON_IS }),
    delta: z.number(),
    rounds: z.bigint(),
    epsilonBudget: z.number().nullable(),
    updatedAt: z.date(),
  })
  .meta({ id: "DataSet" });
export type DataSetRecord = z.infer<typeof dataSetRecord>;

export const listDataSetsAnswer = listOf(dataSetRecord);
export const dataSetAnswer = z.object({ dataset: dataSetRecord });
