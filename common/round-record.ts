import { hash } from "node:crypto";
import { canonicalJson } from "./json.ts";

/** One update that a round was made of. */
export interface RecordedUpdate {
  /** SHA-256 of its bytes, in hex. */
  readonly hash: string;
  readonly weight: number;
}

/** What a round was made of and what came out: enough for anybody who has the bytes to make it again and compare. */
export interface RoundRecord {
  readonly federationId: string;
  readonly round: number;
  /** Hash of the record before; of the first round NO_RECORD. */
  readonly previous: string;
  /** SHA-256 of the parameters the round began with; null: every participant began with its own. */
  readonly base: string | null;
  /** What the strategy carried over from the round before; null: nothing. */
  readonly state: string | null;
  /** In the order of sortedUpdates; lists in `strategy` with one value for each client are in this order too. */
  readonly updates: readonly RecordedUpdate[];
  readonly strategy: Readonly<Record<string, unknown>>;
  /** SHA-256 of the parameters that came out. */
  readonly result: string;
  /**
   * Who combined: the coordinator, or a participant that understands parameters nobody else can read. Noise that was added on purpose
   * cannot be made again, and must not. "unmasked": of a secure sum, by the proof that the strategy names.
   */
  readonly made: "aggregated" | "delegated" | "noised" | "unmasked";
}

export const NO_RECORD = "0".repeat(64);

/** The one order, whatever order the updates came in. */
export function sortedUpdates<Update extends RecordedUpdate>(updates: readonly Update[]): Update[] {
  return updates.toSorted((left, right) => (left.hash === right.hash ? left.weight - right.weight : left.hash < right.hash ? -1 : 1));
}

/** The chain: SHA-256 over the canonical JSON of the record, which holds the hash of the one before. */
export function roundRecordHash(record: RoundRecord): string {
  return hash("sha256", canonicalJson(record), "hex");
}

export interface ChainLink {
  readonly record: RoundRecord;
  readonly hash: string;
}

/** The first round at which the chain does not hold, and why; undefined: it holds. */
export function firstBrokenLink(links: readonly ChainLink[]): { round: number; reason: string } | undefined {
  let previous = { hash: NO_RECORD, result: null as string | null };
  for (const [index, { record, hash: stored }] of links.entries()) {
    const round = index + 1;
    if (record.round !== round) return { round, reason: `the record of round ${round} is missing or cannot be read` };
    if (record.previous !== previous.hash) return { round, reason: "it does not name the record before it" };
    if (roundRecordHash(record) !== stored) return { round, reason: "its hash is not that of its content" };
    if (index > 0 && record.base !== previous.result) return { round, reason: "it does not begin with the result of the round before" };
    previous = { hash: stored, result: record.result };
  }
  return undefined;
}
