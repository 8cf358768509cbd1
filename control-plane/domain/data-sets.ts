import { hash } from "node:crypto";
import { canonicalJson } from "../../common/json.ts";
import type { FederationParticipant } from "./training-records.ts";

/** What federations of an organisation have spent of the privacy of one data set. */
export interface DataSet {
  /** organizationId/name */
  id: string;
  organizationId: string;
  name: string;
  /** Of all rounds together; see common/privacy-account.ts. */
  rho: number;
  rounds: number;
  /** What epsilon is told for. */
  delta: number;
  /** No round may begin that would spend more. */
  epsilonBudget?: number;
  createdAt: number;
  updatedAt: number;
}

export const dataSetId = (organizationId: string, name: string): string => `${organizationId}/${name}`;

interface Part {
  readonly name: string;
  /** Which part of it; "" for all. Parts of one partition have no row in common. */
  readonly part: string;
  /** How it is parted. */
  readonly scheme: string;
}

/**
 * How often a round uses each data set, by name. Participants that have different parts of one partition use it once together, for nobody
 * is in two of them; whoever uses the same rows again counts again.
 */
export function dataSetUses(
  participants: readonly FederationParticipant[],
  { shared, chosen }: { shared: unknown; chosen: ReadonlySet<string> },
): Map<string, number> {
  const uses = new Map<string, Map<string, Map<string, number>>>();
  // Every place keeps its number: it says which part of the task's data it has.
  for (const [index, participant] of participants.entries()) {
    if (!chosen.has(participant.id)) continue;
    const { name, scheme, part } = partOf(participant, shared, index);
    const schemes = uses.get(name) ?? new Map<string, Map<string, number>>();
    const parts = schemes.get(scheme) ?? new Map<string, number>();
    parts.set(part, (parts.get(part) ?? 0) + 1);
    uses.set(name, schemes.set(scheme, parts));
  }
  return new Map(
    [...uses].map(([name, schemes]) => [name, [...schemes.values()].reduce((sum, parts) => sum + Math.max(...parts.values()), 0)]),
  );
}

function partOf(participant: FederationParticipant, shared: unknown, index: number): Part {
  const given: unknown = participant.dataset === "" ? shared : JSON.parse(participant.dataset);
  // Its own data, wherever it keeps them.
  if (given === undefined || given === null)
    return { name: participant.url === "" ? "joined" : participant.url, part: participant.id, scheme: "" };
  if (typeof given === "string") return { name: given, part: "", scheme: "" };
  const { name, uri, synthetic, partition } = given as Record<string, unknown>;
  if (typeof uri === "string") return { name: uri, part: "", scheme: "" };
  if (synthetic !== undefined) return { name: `synthetic ${digestOf(synthetic)}`, part: "", scheme: "" };
  if (typeof name !== "string") return { name: `rows ${digestOf(given)}`, part: "", scheme: "" };
  if (typeof partition !== "object" || partition === null) return { name, part: "", scheme: "" };
  const { index: own = index, ...scheme } = partition as Record<string, unknown>;
  return { name, part: String(own), scheme: canonicalJson(scheme) };
}

const digestOf = (value: unknown): string => hash("sha256", canonicalJson(value), "hex").slice(0, 16);
