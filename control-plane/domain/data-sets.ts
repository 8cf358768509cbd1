import { hash } from "node:crypto";
import { canonicalJson } from "../../common/json.ts";
import { NAME_BYTES_MAX, placeOf } from "../../common/training/dataset-place.ts";
import type { FederationParticipant } from "./training-records.ts";

/** The privacy of one data set that federations of an organization have spent. */
export interface DataSet {
  /** organizationId/name */
  id: string;
  organizationId: string;
  name: string;
  /** zCDP cost of all rounds together; see common/training/privacy-account.ts. */
  rho: number;
  rounds: number;
  /** The delta that epsilon is reported for. */
  delta: number;
  /** Rounds that would exceed this epsilon are refused. */
  epsilonBudget?: number;
  createdAt: number;
  updatedAt: number;
}

/** A name that fits a key. Of a longer one, the hash is as good: a budget is set by what the list shows. */
const bounded = (name: string): string => (Buffer.byteLength(name) <= NAME_BYTES_MAX ? name : `sha256:${hash("sha256", name, "hex")}`);

/** The name of the account that a budget is for: the address of a file without its query, as in rounds that use it. */
export function accountName(given: string): string {
  const found = /^[a-z][a-z0-9+.-]*:\/\/[^/]*\/./i.test(given) ? placeOf(given) : undefined;
  return bounded(found?.place ?? given);
}

export const dataSetId = (organizationId: string, name: string): string => `${organizationId}/${name}`;

interface Part {
  readonly name: string;
  /** The part of the data set; "" for all of it. Parts of one partition share no row. */
  readonly part: string;
  /** The partition scheme. */
  readonly scheme: string;
}

/**
 * How often a round uses each data set, by name. Participants with different parts of one partition count as one use, because no row is
 * in two parts; each further use of the same rows counts again.
 */
export function dataSetUses(
  participants: readonly FederationParticipant[],
  { shared, chosen }: { shared: unknown; chosen: ReadonlySet<string> },
): Map<string, number> {
  const uses = new Map<string, Map<string, Map<string, number>>>();
  // The index is the participant's position in the federation: by default it selects the part of the task's data.
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
  // The rounds of the inner federation are counted for its own data sets, too.
  if (participant.inner) return { name: participant.inner.federationId, part: "", scheme: "" };
  const given: unknown = participant.dataset === "" ? shared : JSON.parse(participant.dataset);
  const name = nameOf(given);
  // Which rows of its own a participant takes for what names none is not known. Every one that joined is another node.
  if (name === undefined && participant.url === "") return { name: "joined", part: participant.id, scheme: "" };
  const { partition, uri, synthetic, ...rest } = Object(given) as Record<string, unknown>;
  const whole = { name: bounded(name ?? participant.url), part: "", scheme: "" };
  if (uri !== undefined || synthetic !== undefined || typeof partition !== "object" || partition === null) return whole;
  const { index: own = index, ...scheme } = partition as Record<string, unknown>;
  return { ...whole, part: String(own), scheme: canonicalJson(name === undefined ? { ...scheme, of_own: rest } : scheme) };
}

/** The name of a data set that a participant does not have of its own: a node's name for it, its place, or what rows the request has itself. */
function nameOf(given: unknown): string | undefined {
  if (typeof given === "string") return given === "" ? undefined : given;
  if (Array.isArray(given)) return given.length === 0 ? undefined : `rows ${digestOf(given)}`;
  const { name, uri, synthetic, x } = Object(given) as Record<string, unknown>;
  if (typeof uri === "string") return placeOf(uri)?.place ?? uri;
  if (synthetic !== undefined) return `synthetic ${digestOf(synthetic)}`;
  if (typeof name === "string") return name;
  return Array.isArray(x) && x.length > 0 ? `rows ${digestOf(given)}` : undefined;
}

const digestOf = (value: unknown): string => hash("sha256", canonicalJson(value), "hex").slice(0, 16);
