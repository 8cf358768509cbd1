import { type FakeDisk, fakeDisk } from "../../../common/disk-fixture.ts";
import type { Logger } from "../../../common/logger.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type FakeClock, fakeClock } from "../../access/clock-fixture.ts";
import { NO_USAGE } from "../pricing/usage.ts";
import type { Journal } from "./journal.ts";
import { type JournalOptions, openJournal } from "./open-journal.ts";
import type { Intent, Progress, ServedRecord } from "./records.ts";

export const FOLDER = "/journal";

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
}

export interface Opened {
  readonly journal: Journal;
  readonly disk: FakeDisk;
  readonly clock: FakeClock;
  readonly lines: LogLine[];
  /** Errors after which the journal reported itself broken. */
  readonly broken: unknown[];
}

/** A journal on a disk in memory that records everything the journal reports. */
export async function openOn(disk = fakeDisk(), options: Partial<JournalOptions> = {}): Promise<Opened> {
  const clock = fakeClock();
  const lines: LogLine[] = [];
  const broken: unknown[] = [];
  const take = (level: LogLine["level"]) => (_fields: object, message: string) => void lines.push({ level, message });
  const logger: Logger = { debug: take("debug"), info: take("info"), warn: take("warn"), error: take("error") };
  const onBroken = (error: unknown) => void broken.push(error);
  const journal = await openJournal({ disk, folder: FOLDER, edgeId: "edge-1", sync: "disk", clock, logger, onBroken, ...options });
  return { journal, disk, clock, lines, broken };
}

export function callId(index: number): string {
  return `call_${String(index).padStart(33, "0")}`;
}

export function intentOf(index: number): Intent {
  return {
    callId: callId(index),
    createdAtMs: 1_700_000_000_000 + index,
    endpoint: "/v1/chat/completions",
    organizationId: "org_000000000000000000000000000000001",
    teamId: "team_00000000000000000000000000000001",
    teamName: "Default",
    apiKeyId: "key_000000000000000000000000000000001",
    apiKeyName: "first",
    maskedKey: "sk-...a1b2",
    userId: index % 2 === 0 ? 9_007_199_254_740_993n : undefined,
    endUser: index % 3 === 0 ? "someone" : undefined,
    model: "gpt-4o-mini",
    type: "chat",
    stream: true,
    worstCase: 12_345_678_901_234_567n,
    tags: index % 5 === 0 ? ["nightly"] : [],
    onceFor: undefined,
  };
}

export function servedOf(index: number): ServedRecord {
  return {
    callId: callId(index),
    deploymentId: "dep_1",
    provider: "openai",
    model: "gpt-4o-mini",
    type: "chat",
    priceVersion: 3,
    prices: { unit: "token", input: 150_000_000n, output: 600_000_000n, cachedInput: 75_000_000n },
    attempts: 1,
    fallbackFrom: undefined,
  };
}

export function progressOf(index: number, output: number): Progress {
  return { callId: callId(index), elapsedMs: output * 10, firstTokenMs: 80, usage: { ...NO_USAGE, input: 100, output } };
}

/** The row of a call that delivered this much and succeeded. */
export function finalOf(index: number, output = 200): UsageLog {
  const { createdAtMs, worstCase: _worstCase, tags, ...intent } = intentOf(index);
  const { deploymentId, provider, priceVersion, attempts } = servedOf(index);
  const [input, written] = [100n, BigInt(output)];
  return {
    ...intent,
    createdAt: new Date(createdAtMs),
    completedAt: new Date(createdAtMs + 2500),
    deploymentId,
    provider,
    status: "success",
    httpStatus: 200,
    errorCode: undefined,
    usage: {
      input,
      cachedInput: 0n,
      cacheWrite: 0n,
      output: written,
      reasoning: 0n,
      audio: 0n,
      total: input + written,
      source: "provider",
    },
    cost: input * 150n + written * 600n,
    priceVersion,
    cacheHit: false,
    attempts,
    fallbackFrom: undefined,
    latencyMs: 2500,
    firstTokenMs: 80,
    overheadUs: 412,
    tags: [...tags],
    ledgerSeq: undefined,
    attemptsDetail: [],
  };
}

/** Intent, served, one progress and the final. */
export async function runCall(journal: Journal, index: number): Promise<void> {
  journal.intent(intentOf(index));
  journal.served(servedOf(index));
  journal.progress(progressOf(index, 32));
  await journal.final(finalOf(index));
}
