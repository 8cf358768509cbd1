import type { z } from "zod";
import { STRATEGIES } from "../../../../common/strategies/gen/strategies.ts";
import { ownDeclaration } from "../../../../common/strategies/shared/own-strategy.ts";
import type { Strategy } from "../../../../common/strategies/shared/strategy.ts";
import type { OwnStrategy } from "../../../../proto/gen/tributary/training/v1/own_strategies.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/strategies.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { sent } from "../present.ts";

const shared = { tag: "Training" } as const;
const path = "/training/strategies";

export function strategyOperations(deps: Pick<EdgeDeps, "control">): Operation[] {
  return [listStrategies(deps), createStrategy(deps), getStrategy(deps), deleteStrategy(deps)];
}

const listStrategies = ({ control }: Pick<EdgeDeps, "control">) =>
  operation({
    ...shared,
    method: "get",
    path,
    summary:
      "Aggregation strategies: their settings, what they must see of updates, and whether federations can use them; with a token also the organization's own",
    auth: "none",
    optionalToken: true,
    status: 200,
    answer: schemas.listStrategiesAnswer,
    handler: async (_input, call) => {
      const options = call.read();
      // The built-in ones are there without the control plane.
      const isKnown = options.metadata?.["authorization"] !== undefined;
      const strategies = isKnown ? (await control.training.listStrategies({}, options)).strategies : [];
      return { data: [...STRATEGIES.map((strategy) => presentStrategy(strategy, null)), ...strategies.map(presentOwn)] };
    },
  });

const createStrategy = ({ control }: Pick<EdgeDeps, "control">) =>
  operation({
    ...shared,
    method: "post",
    path,
    summary:
      "Create an own aggregation strategy, a function aggregate(updates, context) in Python or TypeScript, for federations of the organization",
    auth: "user",
    apiKey: true,
    body: schemas.createStrategyBody,
    status: 201,
    answer: schemas.ownStrategyAnswer,
    handler: async ({ body }, call) => presentSource((await control.training.createStrategy(body, call.write())).strategy),
  });

const getStrategy = ({ control }: Pick<EdgeDeps, "control">) =>
  operation({
    ...shared,
    method: "get",
    path: `${path}/:name`,
    summary: "Retrieve an own strategy with its source",
    auth: "user",
    apiKey: true,
    params: schemas.strategyParams,
    status: 200,
    answer: schemas.ownStrategyAnswer,
    handler: async ({ params }, call) => presentSource((await control.training.getStrategy(params, call.read())).strategy),
  });

const deleteStrategy = ({ control }: Pick<EdgeDeps, "control">) =>
  operation({
    ...shared,
    method: "delete",
    path: `${path}/:name`,
    summary: "Delete an own strategy; federations that use it have a copy",
    auth: "user",
    apiKey: true,
    params: schemas.strategyParams,
    status: 200,
    answer: schemas.deletedStrategyAnswer,
    handler: async ({ params }, call) => {
      await control.training.deleteStrategy(params, call.write());
      return { deleted: true as const, name: params.name };
    },
  });

function presentSource(strategy: OwnStrategy | undefined): z.input<typeof schemas.ownStrategyAnswer> {
  const { name, language, source, sha256, createdBy, createdAt } = sent(strategy, "strategy");
  return { strategy: { name, language, source, sha256, createdBy, createdAt: sent(createdAt, "createdAt") } };
}

const presentOwn = ({ name, language, sha256, createdAt }: OwnStrategy): schemas.StrategyRecord =>
  presentStrategy(ownDeclaration(name), { language, sha256, createdAt: sent(createdAt, "createdAt") });

function presentStrategy({ settings, ...strategy }: Strategy, own: schemas.StrategyRecord["own"]): schemas.StrategyRecord {
  const { name, description, sees, timing, robust, adaptive, needs, formats } = strategy;
  return {
    ...{ name, description, sees, timing, robust, adaptive, formats },
    needs: [...needs],
    settings: Object.entries(settings).map(([setting, rule]) => ({
      ...(rule.type === "choice" ? { ...rule, of: [...rule.of] } : rule),
      name: setting,
      required: "required" in rule,
    })),
    // Every strategy works in federations; older versions had some that did not.
    federations: true,
    reason: null,
    own,
  };
}
