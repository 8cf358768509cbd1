import { z } from "zod";
import { ownStrategy, ownStrategyName } from "../../../common/strategies/shared/own-strategy.ts";
import { findStrategy } from "../../../common/strategies/shared/registry.ts";

const settingRecord = z.object({
  name: z.string(),
  type: z.enum(["number", "choice", "list"]),
  description: z.string(),
  required: z.boolean(),
  default: z.union([z.number(), z.string()]).optional(),
  /** Bounds of numbers; `above` and `below` are not values themselves. */
  min: z.number().optional(),
  above: z.number().optional(),
  max: z.number().optional(),
  below: z.number().optional(),
  whole: z.boolean().optional(),
  /** The values of a choice. */
  of: z.array(z.string()).optional(),
  /** "aggregate": given with a call of `/aggregate`; a federation fills it in by itself. "federation": a federation alone has it. */
  only: z.enum(["federation", "aggregate"]).optional(),
});

const strategyRecord = z
  .object({
    name: z.string(),
    description: z.string(),
    settings: z.array(settingRecord),
    /** "sum": works under secure aggregation and central noise. */
    sees: z.enum(["sum", "each"]),
    timing: z.enum(["rounds", "asynchronous"]),
    /** Bounds the influence of participants that send wrong updates. */
    robust: z.boolean(),
    adaptive: z.boolean(),
    /** What participants must declare under `capabilities`. */
    needs: z.array(z.string()),
    /** "any": opaque parameters too. */
    formats: z.enum(["readable", "any"]),
    /** Whether a federation can use it, and why not. */
    federations: z.boolean(),
    reason: z.string().nullable(),
    /** Of an own strategy of the caller's organization; null for a built-in one. */
    own: z.object({ language: z.string(), sha256: z.string(), createdAt: z.date() }).nullable(),
  })
  .meta({ id: "Strategy" });
export type StrategyRecord = z.infer<typeof strategyRecord>;

export const createStrategyBody = z.strictObject({
  name: ownStrategyName.refine((name) => findStrategy(name) === undefined, "is the name of a built-in strategy"),
  ...ownStrategy.shape,
});

export const strategyParams = z.object({ name: z.string().min(1).max(100) });

const ownStrategyRecord = z
  .object({
    name: z.string(),
    language: z.string(),
    source: z.string(),
    /** Of the source; the rounds' records name it. */
    sha256: z.string(),
    createdBy: z.bigint(),
    createdAt: z.date(),
  })
  .meta({ id: "OwnStrategy" });

export const ownStrategyAnswer = z.object({ strategy: ownStrategyRecord });
export const deletedStrategyAnswer = z.object({ deleted: z.literal(true), name: z.string() });

export const listStrategiesAnswer = z.object({ data: z.array(strategyRecord) });
