import { STRATEGIES } from "../../../../common/strategies/gen/strategies.ts";
import type { Strategy } from "../../../../common/strategies/shared/strategy.ts";
import { listStrategiesAnswer, type StrategyRecord } from "../../../schemas/platform/strategies.ts";
import { type Operation, operation } from "../../middleware/operation.ts";

export function strategyOperations(): Operation[] {
  return [
    operation({
      method: "get",
      path: "/training/strategies",
      summary: "Aggregation strategies: their settings, what they must see of updates, and whether federations can use them",
      tag: "Training",
      auth: "none",
      status: 200,
      answer: listStrategiesAnswer,
      handler: async () => ({ data: STRATEGIES.map(presentStrategy) }),
    }),
  ];
}

function presentStrategy({ settings, notInFederations, ...strategy }: Strategy): StrategyRecord {
  const { name, description, sees, timing, robust, adaptive, needs, formats } = strategy;
  return {
    ...{ name, description, sees, timing, robust, adaptive, formats },
    needs: [...needs],
    settings: Object.entries(settings).map(([setting, rule]) => ({
      ...(rule.type === "choice" ? { ...rule, of: [...rule.of] } : rule),
      name: setting,
      required: "required" in rule,
    })),
    federations: notInFederations === undefined,
    reason: notInFederations ?? null,
  };
}
