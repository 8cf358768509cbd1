import { z } from "zod";
import { plainText } from "../fields.ts";
import { listOf } from "../records.ts";

export const dataSetBudgetBody = z.strictObject({
  /** As datasets are named: "digits", an address, or the node's own where it has no name. */
  name: plainText(2048),
  /** null: none any more. */
  epsilonBudget: z.number().positive("must be above 0").max(1e6).nullable(),
  /** What epsilon is told for; 1e-5 where nobody said. */
  delta: z.number().gt(0, "must be above 0").lt(1, "must be below 1").optional(),
});

const dataSetRecord = z
  .object({
    name: z.string(),
    epsilon: z.number(),
    delta: z.number(),
    rounds: z.bigint(),
    epsilonBudget: z.number().nullable(),
    updatedAt: z.date(),
  })
  .meta({ id: "DataSet" });
export type DataSetRecord = z.infer<typeof dataSetRecord>;

export const listDataSetsAnswer = listOf(dataSetRecord);
export const dataSetAnswer = z.object({ dataset: dataSetRecord });
