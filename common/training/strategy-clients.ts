import { tooFewClients } from "../strategies/shared/least-clients.ts";
import { settingOf, strategyNamed } from "../strategies/shared/registry.ts";
import type { GivenStrategy } from "../strategies/shared/strategy.ts";
import { mostParticipants } from "./enrollment-settings.ts";
import { type Selection, wantedOf } from "./selection-settings.ts";

interface Asked {
  readonly strategy: GivenStrategy;
  readonly fraction: number;
  readonly selection?: Selection | undefined;
  readonly enrollment?: "listed" | "open" | undefined;
  readonly maxParticipants?: number | undefined;
  readonly participants: { readonly length: number };
}

/** A strategy that no round has enough participants for. All would train on their data for nothing. */
export function strategyClientProblems(asked: Asked): { path: string[]; message: string }[] {
  const { strategy, fraction, selection } = asked;
  const participants = mostParticipants(asked);
  // A function selects as many as it likes.
  const clients = selection?.function === undefined ? wantedOf({ participants, fraction, selection }) : participants;
  const few = tooFewClients(strategyNamed(strategy.name), (name) => settingOf(strategy, name), clients);
  if (!few) return [];
  const selected = clients < participants ? ` in a round, which selects from ${participants} by fraction and selection.max` : "";
  return [{ path: ["strategy", few.setting], message: `${few.message}${selected}` }];
}
