import { createHash } from "node:crypto";
import { type OwnStrategy, ownOf } from "../../common/strategies/shared/own-strategy.ts";
import { findStrategy } from "../../common/strategies/shared/registry.ts";
import { federationSettings } from "../../common/training/federation-settings.ts";
import { type ChainLink, firstBrokenLink, type RoundRecord } from "../../common/training/round-record.ts";
import type { Round } from "../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../errors.ts";
import { hashFile } from "./blobs/hash-file.ts";
import type { TrainingClient } from "./control.ts";
import type { CoordinatorDeps } from "./deps.ts";
import { proofOf, remakeMasked } from "./secure/combine-masked.ts";

/** The result of verifying a federation's history. */
export interface Verification {
  readonly ok: boolean;
  /** Number of verified rounds. */
  readonly rounds: number;
  /** Number of rounds that were recomputed with identical bytes. */
  readonly remade: number;
  readonly firstBad: { readonly round: number; readonly reason: string } | null;
}

const CALL_MS = 5000;
const PAGE = 50;

/**
 * Verifies every round of a federation: the chain of records, the bytes behind every hash, and the aggregation itself. Rounds that
 * participants aggregated or that have noise cannot be recomputed; their chain and bytes are checked.
 */
export async function verifyFederation(
  deps: Pick<CoordinatorDeps, "aggregation" | "blobs" | "secure">,
  { client, federationId, signal }: { client: TrainingClient; federationId: string; signal: AbortSignal },
): Promise<Verification> {
  const rounds = await allRounds(client, federationId, signal);
  const links = rounds.map(({ record, recordHash }) => ({ record: readRecord(record), hash: recordHash }));
  const broken = firstBroken(rounds, links);
  const isWhole = wholeness(deps.blobs);
  const verdict = (ok: boolean, remade: number, firstBad: Verification["firstBad"]) => ({ ok, rounds: rounds.length, remade, firstBad });
  const own = await ownStrategyOf(client, federationId, links);
  let again = 0;
  for (const [index, { record }] of (broken ? links.slice(0, broken.round - 1) : links).entries()) {
    signal.throwIfAborted();
    const before = links[index - 1]?.record;
    const missing =
      (await missingPart(record, isWhole)) ??
      (await wrongStart(deps, record, signal)) ??
      (await wrongSize(deps.blobs, record)) ??
      (await wrongOuter(client, { record, before }, signal));
    if (missing !== undefined) return verdict(false, again, { round: record.round, reason: missing });
    const result = await remade(deps, { record, own }, signal);
    if (result === undefined) continue;
    if (result !== record.result && !(await isOfEarlierVersion(deps, record, signal)))
      return verdict(false, again, { round: record.round, reason: "aggregating its updates does not give its recorded result" });
    again++;
  }
  return verdict(!broken, again, broken);
}

/** The hash of the round's recomputed result; undefined if the round cannot be recomputed. */
async function remade(
  deps: Pick<CoordinatorDeps, "aggregation" | "blobs" | "secure">,
  { record, own }: { record: RoundRecord; own: OwnStrategy | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (record.made === "unmasked") {
    const parameters = await remakeMasked(deps, record, signal);
    return createHash("sha256").update(parameters).digest("hex");
  }
  if (record.made !== "aggregated") return undefined;
  const updates = record.updates.map(({ hash, weight }, index) => ({ hash, weight, id: String(index) }));
  const input = { updates, strategy: record.strategy, base: record.base ?? "", state: record.state ?? "" };
  return (await deps.aggregation.store({ ...input, own, keep: false }, signal)).parameters;
}

/** Whether a result is what an earlier version made. Histories from then are not forged. */
async function isOfEarlierVersion({ aggregation }: Pick<CoordinatorDeps, "aggregation">, record: RoundRecord, signal: AbortSignal) {
  if (record.made !== "aggregated") return false;
  for (const { updates, strategy } of earlierForms(record)) {
    const given = updates.map(({ hash, weight }, index) => ({ hash, weight, id: String(index) }));
    const input = { updates: given, strategy, base: record.base ?? "", state: record.state ?? "", keep: false };
    if ((await aggregation.store(input, signal)).parameters === record.result) return true;
  }
  return false;
}

/** What stands for a round today, if earlier versions computed it otherwise. */
function earlierForms({ strategy, updates }: RoundRecord): Pick<RoundRecord, "strategy" | "updates">[] {
  const declared = findStrategy(String(strategy["name"]));
  // The geometric median started from the mean.
  if (declared?.name === "geometric_median") return [{ updates, strategy: { ...strategy, start: "mean" } }];
  // Strategies that do not weigh by samples counted updates of 0 samples, too.
  if (!declared || declared.usesWeights || updates.every(({ weight }) => weight > 0)) return [];
  return [{ strategy, updates: updates.map(({ hash }) => ({ hash, weight: 1 })) }];
}

/** The source of an own strategy, which records name by its hash and the federation has. */
async function ownStrategyOf(client: TrainingClient, federationId: string, links: readonly ChainLink[]): Promise<OwnStrategy | undefined> {
  if (!links.some(({ record }) => record.strategy?.["source"] !== undefined)) return undefined;
  const { federation } = await client.getWork({ federationId }, { deadlineMs: CALL_MS });
  return ownOf(federationSettings.parse(JSON.parse(federation?.settings ?? "{}")).strategy);
}

/** A record that is not JSON was changed. */
function readRecord(text: string): RoundRecord {
  try {
    return Object(JSON.parse(text)) as RoundRecord;
  } catch {
    return Object({}) as RoundRecord;
  }
}

/** The first break of the chain, or the first round whose result differs from its record. */
function firstBroken(rounds: readonly Round[], links: readonly ChainLink[]): Verification["firstBad"] {
  const broken = firstBrokenLink(links);
  const other = rounds.findIndex(({ resultBlob }, index) => resultBlob !== links[index]?.record.result);
  if (other < 0 || (broken && broken.round <= other + 1)) return broken ?? null;
  return { round: other + 1, reason: "its result differs from the one in its record" };
}

type IsWhole = (sha256: string) => Promise<boolean>;

/** Whether a blob exists and matches its hash; checked once per blob. */
function wholeness(blobs: CoordinatorDeps["blobs"]): IsWhole {
  const whole = new Set<string>();
  return async (sha256) => {
    if (whole.has(sha256)) return true;
    const found = await blobs.find(sha256);
    if (!found || (await hashFile(found.path)) !== sha256) return false;
    whole.add(sha256);
    return true;
  };
}

async function missingPart(record: RoundRecord, isWhole: IsWhole): Promise<string | undefined> {
  const parts: [string, string | null][] = [
    ["the base", record.base],
    ["the strategy's state", record.state],
    ...record.updates.map(({ hash }): [string, string] => ["an update", hash]),
    ["the proof of the sum", proofOf(record) || null],
    ["the result", record.result],
  ];
  for (const [what, sha256] of parts) {
    if (sha256 !== null && !(await isWhole(sha256))) return `${what}, ${sha256}, is missing or does not match its hash`;
  }
  return undefined;
}

/** The size that a record names for its updates is that of their blobs. */
async function wrongSize(blobs: CoordinatorDeps["blobs"], { compression, updates }: RoundRecord): Promise<string | undefined> {
  if (!compression) return undefined;
  const sizes = await Promise.all(updates.map(async ({ hash }) => (await blobs.find(hash))?.bytes ?? 0));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return bytes === compression.bytes ? undefined : `its updates have ${bytes} bytes, and its record says ${compression.bytes}`;
}

/** The base that the coordinator made of a task and a seed is made again; that of a participant cannot be. */
async function wrongStart({ aggregation }: Pick<CoordinatorDeps, "aggregation">, record: RoundRecord, signal: AbortSignal) {
  const { start, base } = record;
  if (start?.by !== "coordinator") return undefined;
  const again = await aggregation.untrained(start, signal).catch((thrown: unknown) => {
    if (thrown instanceof TrainerError) return new Uint8Array(0);
    throw thrown;
  });
  return createHash("sha256").update(again).digest("hex") === base
    ? undefined
    : "its base is not the untrained model of the task and the seed that it names";
}

/**
 * The first of the rounds that train for an outer round begins with what the outer round itself began with, or with the result before it if the
 * outer round had none.
 */
async function wrongOuter(
  client: Pick<TrainingClient, "getHistory" | "getWork">,
  { record: { outer, base }, before }: { record: RoundRecord; before: RoundRecord | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!outer) return undefined;
  const began = await outerBase(client, outer, signal);
  const wanted = began === null ? before?.result : began;
  if (wanted === undefined || wanted === base) return undefined;
  return `it does not begin with the parameters that round ${outer.round} of ${outer.federationId} began with`;
}

/** What an outer round began with; null: nothing, undefined: unknown, because it is not committed and may begin with parameters from further out. */
async function outerBase(
  client: Pick<TrainingClient, "getHistory" | "getWork">,
  { federationId, round }: NonNullable<RoundRecord["outer"]>,
  signal: AbortSignal,
): Promise<string | null | undefined> {
  const options = { deadlineMs: CALL_MS, signal };
  const { rounds } = await client.getHistory({ federationId, after: Math.max(0, round - 2), limit: 2 }, options);
  const made = rounds.find((one) => one.round === round);
  if (made) return readRecord(made.record).base;
  const { federation } = await client.getWork({ federationId }, options);
  if (!federation || federation.outer) return undefined;
  return (round === 1 ? federation.initialBlob : rounds[0]?.resultBlob) || null;
}

/** All committed rounds of a federation, oldest first. */
export async function allRounds(client: TrainingClient, federationId: string, signal: AbortSignal): Promise<Round[]> {
  const rounds: Round[] = [];
  for (;;) {
    const after = rounds.at(-1)?.round ?? 0;
    const page = await client.getHistory({ federationId, after, limit: PAGE }, { deadlineMs: CALL_MS, signal });
    if (page.rounds.length === 0) return rounds;
    rounds.push(...page.rounds);
  }
}
