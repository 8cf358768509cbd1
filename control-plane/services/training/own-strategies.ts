import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import { ownStrategy, ownStrategyName, sourceHash } from "../../../common/strategies/shared/own-strategy.ts";
import { findStrategy } from "../../../common/strategies/shared/registry.ts";
import {
  CreateStrategyResponse,
  DeleteStrategyResponse,
  type OwnStrategy as OwnStrategyMessage,
} from "../../../proto/gen/tributary/training/v1/own_strategies.ts";
import type { TrainingServiceService } from "../../../proto/gen/tributary/training/v1/training.ts";
import { type OwnStrategyRecord, ownStrategyId } from "../../domain/own-strategies.ts";
import { collect } from "../../stores/page.ts";
import { actorIfAny } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date } from "../messages.ts";
import { write } from "../write.ts";
import { requireTrainingActor, teamForNew } from "./access.ts";

const STRATEGIES_MAX = 100;

type Handlers = ServiceHandlers<typeof TrainingServiceService>;

/** Own strategies of an organization: every member may read them, managers of a team may create and delete them. */
export function ownStrategyHandlers(
  deps: ControlDeps,
): Pick<Handlers, "createStrategy" | "listStrategies" | "getStrategy" | "deleteStrategy"> {
  const { store } = deps;
  return {
    async createStrategy(request, context) {
      const { actor, organizationId } = await requireAuthor(deps, context);
      refuseClosed(deps);
      const given = readStrategy(request);
      return write(deps, context, { actor: actor.person, codec: CreateStrategyResponse, scopes: [] }, async ({ tx, now, audit }) => {
        const id = ownStrategyId(organizationId, given.name);
        if (await tx.get("ownStrategies", id)) throw taken("the organization has a strategy of this name; delete it first");
        const known = await collect(tx.scan("ownStrategies", { index: "byOrganization", equals: [organizationId], limit: STRATEGIES_MAX }));
        if (known.length >= STRATEGIES_MAX)
          throw new AppError("QUOTA_EXCEEDED", `An organization may have ${STRATEGIES_MAX} own strategies. Delete one first.`);
        const record: OwnStrategyRecord = { ...given, id, organizationId, createdBy: actor.userId, createdAt: now };
        await tx.put("ownStrategies", record);
        await audit({ action: "strategy.create", target: given.name, organizationId, details: { sha256: given.sha256 } });
        return { strategy: strategyMessage(record) };
      });
    },

    async listStrategies(_request, context) {
      // The list of built-in strategies is public, and this one is added to it for callers that are known.
      const organizationId = (await actorIfAny(deps, context))?.organizationId;
      if (organizationId === undefined) return { strategies: [] };
      const range = { index: "byOrganization", equals: [organizationId], limit: STRATEGIES_MAX } as const;
      return { strategies: (await collect(store.scan("ownStrategies", range))).map(strategyMessage) };
    },

    async getStrategy({ name }, context) {
      const { organizationId } = await requireTrainingActor(deps, context);
      const found = await store.get("ownStrategies", ownStrategyId(organizationId, name));
      if (!found) throw missing();
      return { strategy: strategyMessage(found) };
    },

    async deleteStrategy({ name }, context) {
      const { actor, organizationId } = await requireAuthor(deps, context);
      return write(deps, context, { actor: actor.person, codec: DeleteStrategyResponse, scopes: [] }, async ({ tx, audit }) => {
        const id = ownStrategyId(organizationId, name);
        if (!(await tx.get("ownStrategies", id))) throw missing();
        await tx.remove("ownStrategies", id);
        await audit({ action: "strategy.delete", target: name, organizationId });
        return {};
      });
    },
  };
}

async function requireAuthor(deps: ControlDeps, context: CallContext) {
  const actor = await requireTrainingActor(deps, context);
  const { organizationId } = await teamForNew(deps.store, actor, "");
  return { actor, organizationId };
}

function refuseClosed({ config }: ControlDeps): void {
  if (config.ownStrategies) return;
  throw new AppError("FORBIDDEN", "Own strategies are off: this deployment is exposed, and its operator has not set OWN_STRATEGIES=true.");
}

function readStrategy({ name, language, source }: { name: string; language: string; source: string }) {
  const own = ownStrategy.safeParse({ language, source });
  if (!ownStrategyName.safeParse(name).success || !own.success)
    throw new AppError("VALIDATION_ERROR", "A strategy needs a name, a language (python or typescript) and a source.");
  if (findStrategy(name)) throw taken("is the name of a built-in strategy");
  return { name, ...own.data, sha256: sourceHash(source) };
}

const missing = () => new AppError("NOT_FOUND", "There is no such strategy.");
const taken = (message: string) =>
  new AppError("ALREADY_EXISTS", `The name cannot be used: ${message}.`, { details: [{ path: "body.name", message }] });

function strategyMessage({ name, language, source, sha256, createdBy, createdAt }: OwnStrategyRecord): OwnStrategyMessage {
  return { name, language, source, sha256, createdBy: BigInt(createdBy), createdAt: date(createdAt) };
}
