import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { epsilonOfRho } from "../../../common/training/privacy-account.ts";
import {
  type DataSet as DataSetMessage,
  SetDataSetBudgetResponse,
  type TrainingServiceService,
} from "../../../proto/gen/tributary/training/v1/training.ts";
import { accountName, type DataSet } from "../../domain/data-sets.ts";
import { readPage } from "../../stores/page.ts";
import { findDataSet } from "../../writes/find-data-set.ts";
import { emptyDataSet } from "../../writes/spend-privacy.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { requireTrainingActor, teamForNew } from "./access.ts";

const DELTA = 1e-5;

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Privacy budgets of data sets: every member of the organization may read them, managers of a team may set them. */
export function dataSetHandlers(deps: ControlDeps): Pick<Handlers, "listDataSets" | "setDataSetBudget"> {
  return {
    async listDataSets(request, context) {
      const { organizationId } = await requireTrainingActor(deps, context);
      const page = pageOf(request.page);
      const range = { index: "byOrganization", equals: [organizationId] } as const;
      const { records, total } = await readPage(deps.store, "dataSets", { ...page, range });
      return { dataSets: records.map(dataSetMessage), meta: metaOf(page, total) };
    },

    async setDataSetBudget({ name: given, epsilonBudget, delta }, context) {
      const name = accountName(given);
      if (name === "" || (epsilonBudget !== undefined && !(epsilonBudget > 0)) || (delta !== undefined && !(delta > 0 && delta < 1)))
        throw new AppError("VALIDATION_ERROR", "A data set needs a name, an epsilonBudget above 0 and a delta between 0 and 1.");
      const actor = await requireTrainingActor(deps, context);
      const { organizationId } = await teamForNew(deps.store, actor, "");
      return write(deps, context, { actor: actor.person, codec: SetDataSetBudgetResponse, scopes: [] }, async ({ tx, now, audit }) => {
        const known = await findDataSet(tx, { organizationId, name });
        const { epsilonBudget: _before, ...rest } = known ?? emptyDataSet({ organizationId, name, delta: DELTA }, now);
        const next: DataSet = {
          ...rest,
          ...(delta === undefined ? {} : { delta }),
          ...(epsilonBudget === undefined ? {} : { epsilonBudget }),
          updatedAt: now,
        };
        await tx.put("dataSets", next);
        await audit({
          action: "dataset.budget",
          target: name,
          organizationId,
          details: { epsilonBudget: String(epsilonBudget ?? "none") },
        });
        return { dataSet: dataSetMessage(next) };
      });
    },
  };
}

function dataSetMessage({ name, rho, delta, rounds, epsilonBudget, updatedAt }: DataSet): DataSetMessage {
  return { name, epsilon: epsilonOfRho(rho, delta), delta, rounds: BigInt(rounds), epsilonBudget, updatedAt: date(updatedAt) };
}
