import type { DataSet } from "../../../../proto/gen/tributary/training/v1/training.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { pageQuery } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/data-sets.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { presentList, sent } from "../present.ts";

const shared = { tag: "Training", auth: "user", apiKey: true, path: "/training/datasets", status: 200 } as const;

/** Privacy budgets of data sets. */
export function dataSetOperations({ control }: EdgeDeps): Operation[] {
  return [
    operation({
      ...shared,
      method: "get",
      summary: "List the organization's data sets with the epsilon that federations have spent",
      query: pageQuery,
      answer: schemas.listDataSetsAnswer,
      handler: async ({ query }, call) => {
        const { dataSets, meta } = await control.training.listDataSets({ page: query }, call.read());
        return presentList(dataSets, meta, presentDataSet);
      },
    }),
    operation({
      ...shared,
      method: "put",
      summary: "Set the epsilon budget of a data set: a round that would exceed it, or that adds no noise, does not start",
      body: schemas.dataSetBudgetBody,
      answer: schemas.dataSetAnswer,
      handler: async ({ body: { name, epsilonBudget, delta } }, call) => {
        const request = { name, epsilonBudget: epsilonBudget ?? undefined, delta };
        const { dataSet } = await control.training.setDataSetBudget(request, call.write());
        return { dataset: presentDataSet(sent(dataSet, "dataSet")) };
      },
    }),
  ];
}

function presentDataSet({ name, epsilon, delta, rounds, epsilonBudget, updatedAt }: DataSet): schemas.DataSetRecord {
  return { name, epsilon, delta, rounds, epsilonBudget: epsilonBudget ?? null, updatedAt: sent(updatedAt, "updatedAt") };
}
