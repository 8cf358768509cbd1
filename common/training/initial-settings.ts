import { z } from "zod";

const ROUND_MAX = 100_000;
const blob = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, "must be the 64 hex digits of a SHA-256")
  .transform((text) => text.toLowerCase())
  .meta({ openapi: { type: "string", pattern: "^[0-9a-fA-F]{64}$" } });

/** What round 1 starts from. Without it every participant starts with its own parameters. */
export const initialSettings = z.union(
  [
    /** Parameters that the organization uploaded, or that its federations made. */
    z.strictObject({ blob }),
    /** A published model of the organization; the newest version where absent. */
    z.strictObject({ model: z.string().min(1).max(100), version: z.int().min(1).optional() }),
    /** The result of another federation's round; the newest where absent. */
    z.strictObject({ federation: z.string().min(1).max(100), round: z.int().min(1).max(ROUND_MAX).optional() }),
    /** What this participant's train function returns without parameters; the index counts from 0. */
    z.strictObject({ participant: z.int().min(0) }),
  ],
  "must have one of: blob; model (and version); federation (and round); participant",
);
export type InitialSettings = z.infer<typeof initialSettings>;

interface Asked {
  readonly initial?: InitialSettings | undefined;
  readonly dp?: unknown;
  readonly secureAggregation?: unknown;
  readonly participants: { readonly length: number };
}

/** What is wrong with `initial` in these settings, by path. */
export function initialProblems({ initial, dp, secureAggregation, participants }: Asked): { path: string[]; message: string }[] {
  if (!initial || !("participant" in initial)) return [];
  const path = ["initial", "participant"];
  if (initial.participant >= participants.length)
    return [{ path, message: `must be below ${participants.length}, the number of participants` }];
  const privacy = dp ? "dp" : secureAggregation ? "secureAggregation" : undefined;
  if (privacy === undefined) return [];
  const message = `does not work with ${privacy}: what one participant trained has no noise and no mask; start from a blob, a model or a federation`;
  return [{ path, message }];
}
