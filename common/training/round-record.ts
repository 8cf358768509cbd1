import { hash } from "node:crypto";
import { canonicalJson } from "../json.ts";
import type { Compression } from "./compression-settings.ts";
import type { UntrainedStart } from "./untrained-start.ts";

/** One update of a round. */
export interface RecordedUpdate {
  /** SHA-256 of its bytes, in hex. */
  readonly hash: string;
  readonly weight: number;
}

/** Inputs and result of a round: with the bytes of the updates, anyone can recompute and compare it. */
export interface RoundRecord {
  readonly federationId: string;
  readonly round: number;
  /** Hash of the previous record; NO_RECORD for the first round. */
  readonly previous: string;
  /** SHA-256 of the base parameters; null if every participant started with its own. */
  readonly base: string | null;
  /** Where the base of round 1 came from, if it is untrained parameters that no request named. */
  readonly start?: UntrainedStart;
  /** State that the strategy carried over from the previous round, or null. */
  readonly state: string | null;
  /** In the order of sortedUpdates; lists in `strategy` with one value for each client are in this order too. */
  readonly updates: readonly RecordedUpdate[];
  readonly strategy: Readonly<Record<string, unknown>>;
  /** SHA-256 of the resulting parameters. */
  readonly result: string;
  /**
   * Who aggregated: the coordinator, or a participant that can read opaque parameters. Deliberately added noise cannot and must not be
   * recomputed. "unmasked" is a secure sum, verified by the proof that the strategy defines.
   */
  readonly made: "aggregated" | "delegated" | "noised" | "unmasked";
  /** The round of another federation whose parameters this round began with, as the first of its inner rounds. */
  readonly outer?: { readonly federationId: string; readonly round: number };
  /** How the updates were compressed on their way; `bytes` is their size as aggregated, `bytesSent` as sent. Absent without compression. */
  readonly compression?: Compression & { readonly bytes: number; readonly bytesSent: number };
}

export const NO_RECORD = "0".repeat(64);

/** The canonical order, independent of the order of arrival. */
export function sortedUpdates<Update extends RecordedUpdate>(updates: readonly Update[]): Update[] {
  return updates.toSorted((left, right) => (left.hash === right.hash ? left.weight - right.weight : left.hash < right.hash ? -1 : 1));
}

/** SHA-256 of the canonical JSON of the record, which contains the hash of the previous record. */
export function roundRecordHash(record: RoundRecord): string {
  return hash("sha256", canonicalJson(record), "hex");
}

export interface ChainLink {
  readonly record: RoundRecord;
  readonly hash: string;
}

/** The first round at which the hash chain is broken, and why; undefined if it is valid. */
export function firstBrokenLink(links: readonly ChainLink[]): { round: number; reason: string } | undefined {
  let previous = { hash: NO_RECORD, result: null as string | null };
  for (const [index, { record, hash: stored }] of links.entries()) {
    const round = index + 1;
    if (record.round !== round) return { round, reason: `the record of round ${round} is missing or cannot be read` };
    if (record.previous !== previous.hash) return { round, reason: "it does not name the record before it" };
    if (roundRecordHash(record) !== stored) return { round, reason: "its hash is not that of its content" };
    if (index > 0 && !record.outer && record.base !== previous.result)
      return { round, reason: "it does not begin with the result of the round before" };
    previous = { hash: stored, result: record.result };
  }
  return undefined;
}
