import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import type { TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Federation } from "../../domain/training-records.ts";
import { roundId } from "../../writes/federations.ts";
import type { ControlDeps } from "../deps.ts";
import { requireTrainingActor, requireVisible } from "./access.ts";

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Which blob a federation's parameters are, for those who may have them: its team, and participants by the token they joined with. */
export function trainingParametersHandlers(deps: ControlDeps): Pick<Handlers, "findParameters"> {
  return {
    async findParameters({ federationId, round, joinToken }, context) {
      const federation = await readable(deps, { federationId, joinToken }, context);
      if (round === undefined) {
        const { head, name } = federation;
        if (head.blob !== "") return { blob: head.blob, round: head.round, name };
        throw new AppError("NOT_FOUND", "The federation has committed no round yet; it has parameters after its first.");
      }
      const found = await deps.store.get("trainingRounds", roundId(federation.id, round));
      if (found?.state === "committed") return { blob: found.resultBlob, round, name: federation.name };
      throw new AppError(
        "NOT_FOUND",
        `Round ${round} has not been committed; GET /training/federations/${federation.id}/rounds lists them.`,
      );
    },
  };
}

async function readable(
  deps: ControlDeps,
  { federationId, joinToken }: { federationId: string; joinToken: string | undefined },
  context: CallContext,
): Promise<Federation> {
  const found = await deps.store.get("federations", federationId);
  if (joinToken === undefined) {
    const actor = await requireTrainingActor(deps, context);
    return (await requireVisible(deps.store, { actor, found, what: "federation" })).found;
  }
  const hash = deps.secrets.tokenHash(joinToken);
  if (found?.participants.some(({ joinHash }) => joinHash === hash)) return found;
  throw new AppError("NOT_FOUND", "There is no such federation.");
}
