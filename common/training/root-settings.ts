import { strategyNamed } from "../strategies/shared/registry.ts";
import type { GivenStrategy } from "../strategies/shared/strategy.ts";
import { isOpen } from "./enrollment-settings.ts";

interface Asked {
  readonly strategy: GivenStrategy;
  readonly initial?: unknown;
  readonly enrollment?: "listed" | "open" | undefined;
  readonly participants: { readonly length: number };
}

/** The id of the participant with the root data set; undefined for a strategy without one. */
export function rootOf(strategy: GivenStrategy): string | undefined {
  const index = strategyNamed(strategy.name).rootOf?.(strategy);
  return index === undefined ? undefined : `p${index + 1}`;
}

/** What is wrong with the root participant of a strategy in these settings, by path. */
export function rootProblems({ strategy, initial, enrollment, participants }: Asked): { path: string[]; message: string }[] {
  const { name, rootOf: indexOf } = strategyNamed(strategy.name);
  const index = indexOf?.(strategy);
  // A missing or invalid index is a problem of the strategy's own settings.
  if (!Number.isInteger(index) || index === undefined) return [];
  const path = ["strategy", "root_participant"];
  if (isOpen({ enrollment }))
    return [{ path, message: "does not work with enrollment open: the root data set must be that of a participant that you name" }];
  if (index >= participants.length) return [{ path, message: `must be below ${participants.length}, the number of participants` }];
  if (participants.length < 2) return [{ path: ["participants"], message: `${name} needs a participant beside the root` }];
  if (initial !== undefined) return [];
  const message = `${name} needs parameters to start from, because a first round without them is a plain mean; {"participant": ${index}} asks the root for them`;
  return [{ path: ["initial"], message }];
}
