import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import type { TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { Federation } from "../../domain/training-records.ts";
import { roundId } from "../../writes/federations.ts";
import type { ControlDeps } from "../deps.ts";
import { requireTrainingActor, requireVisible } from "./access.ts";

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Finds the blob of a federation's parameters, for its team and for participants with their join token. */
export function trainingParametersHandlers(deps: ControlDeps): Pick<Handlers, "findParameters"> {
  return {
    async findParameters({ federationId, round, joinToken }, context) {
      const federation = await readable(deps, { federationId, joinToken }, context);
      const named = { name: federation.name, holder: federation.holder ?? "" };
      if (round === undefined) {
        const { head } = federation;
        if (head.round > 0) return { blob: head.blob, round: head.round, ...named };
        throw new AppError("NOT_FOUND", "The federation has no parameters yet: no round has been committed.");
      }
      const found = await deps.store.get("trainingRounds", roundId(federation.id, round));
      if (found?.state === "committed") return { blob: found.resultBlob, round, ...named };
      throw new AppError(
        "NOT_FOUND",
        `Round ${round} has not been committed. GET /training/federations/${federation.id}/rounds lists the rounds.`,
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
