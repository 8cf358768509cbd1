import { AppError } from "../../../common/errors.ts";
import { isImageName } from "../../../common/image-prices.ts";
import { AMOUNT_NAMES } from "../../../common/pricing.ts";
import { USAGE_STATUSES } from "../../../common/usage-status.ts";
import type { AttemptDetail, TokenUsage, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { UnitAmounts, Usage, UsageRow } from "../../domain/records.ts";
import { type ReportedRow, rowText } from "../../domain/row-text.ts";
import { reportedHash } from "../../domain/settlement.ts";
import { date } from "../messages.ts";

export function usageMessage(row: UsageRow): UsageLog {
  const { contentHash: _hash, reportedCost: _reported, ...shown } = row;
  const { id, createdAt, completedAt, userId, usage, tags, ledgerSeq, reserved, refused, attemptsDetail, ...same } = shown;
  return {
    ...same,
    attemptsDetail: [...(attemptsDetail ?? [])],
    reserved: reserved === undefined ? undefined : BigInt(reserved),
    refused: refused === undefined ? undefined : BigInt(refused),
    callId: id,
    createdAt: date(createdAt),
    completedAt: date(completedAt),
    userId: userId === undefined ? undefined : BigInt(userId),
    usage: bigUsage(usage),
    tags: [...tags],
    ledgerSeq: ledgerSeq === undefined ? undefined : BigInt(ledgerSeq),
  };
}

/** Converts an edge's report to a row. Refuses token classes that are not whole, are negative, or do not sum to the total. */
export function usageRow(log: UsageLog): UsageRow {
  const usage = smallUsage(log.usage);
  const status = log.status;
  if (!isStatus(status)) throw refuse(log, `status ${status}`);
  if (!isCostOf(status, log.cost)) throw refuse(log, `cost ${log.cost}`);
  // Assigned one after the other and not spread, in the order that the hash covers: a row per call is made here.
  const row = {
    id: log.callId,
    createdAt: log.createdAt?.getTime() ?? 0,
    completedAt: log.completedAt?.getTime() ?? 0,
    organizationId: log.organizationId,
    teamId: log.teamId,
    teamName: log.teamName,
    apiKeyId: log.apiKeyId,
    apiKeyName: log.apiKeyName,
    maskedKey: log.maskedKey,
  } as ReportedRow;
  if (log.userId !== undefined) row.userId = Number(log.userId);
  if (log.endUser !== undefined) row.endUser = log.endUser;
  row.endpoint = log.endpoint;
  row.model = log.model;
  row.deploymentId = log.deploymentId;
  row.provider = log.provider;
  row.type = log.type;
  row.stream = log.stream;
  row.status = status;
  row.httpStatus = log.httpStatus;
  if (log.errorCode !== undefined) row.errorCode = log.errorCode;
  row.usage = usage;
  row.priceVersion = log.priceVersion;
  row.cacheHit = log.cacheHit;
  row.attempts = log.attempts;
  if (log.fallbackFrom !== undefined) row.fallbackFrom = log.fallbackFrom;
  row.latencyMs = log.latencyMs;
  if (log.firstTokenMs !== undefined) row.firstTokenMs = log.firstTokenMs;
  row.overheadUs = log.overheadUs;
  row.tags = log.tags;
  addLateFields(row, log);
  requireWhole(row, log);
  const settled = row as UsageRow;
  const contentHash = reportedHash(log.cost, rowText(row));
  settled.cost = log.cost;
  settled.contentHash = contentHash;
  return settled;
}

/** Fields that rows have had since later releases: the last ones. */
function addLateFields(row: ReportedRow, log: UsageLog): void {
  const { onceFor, providerModel, attemptsDetail, reserved, reason, refused } = log;
  if (onceFor !== undefined) row.onceFor = onceFor;
  if (providerModel !== undefined) row.providerModel = providerModel;
  if (attemptsDetail.length > 0) row.attemptsDetail = attemptsDetail.map(attemptRow);
  if (reserved !== undefined) row.reserved = Number(reserved);
  if (row.status !== "refused") return;
  if (reason !== undefined) row.reason = reason;
  if (refused !== undefined) row.refused = countOf("refused", refused);
}

function requireWhole({ id, organizationId, createdAt, usage }: ReportedRow, log: UsageLog): void {
  const sum = usage.input + usage.cachedInput + usage.cacheWrite + usage.output + usage.reasoning + usage.audio;
  if (sum !== usage.total) throw refuse(log, `the usage classes add up to ${sum}, not ${usage.total}`);
  if (!id || !organizationId || !createdAt) throw refuse(log, "an id or a time is missing");
}

const isStatus = (status: string): status is UsageRow["status"] => (USAGE_STATUSES as readonly string[]).includes(status);

const isCostOf = (status: UsageRow["status"], cost: bigint): boolean => cost === 0n || (cost > 0n && status !== "refused");

function attemptRow({ deploymentId, provider, status, errorText, latencyMs }: AttemptDetail) {
  return {
    deploymentId,
    provider,
    ...(status === undefined ? {} : { status }),
    ...(errorText === undefined ? {} : { errorText }),
    latencyMs,
  };
}

const CLASSES = ["input", "cachedInput", "cacheWrite", "output", "reasoning", "audio", "total"] as const;

function bigUsage(usage: Usage): TokenUsage {
  const counts = Object.fromEntries(CLASSES.map((name) => [name, BigInt(usage[name])])) as unknown as Omit<TokenUsage, "source">;
  const { source, audioOutput, cacheWriteHour, amounts, image } = usage;
  return {
    ...counts,
    source,
    audioOutput: audioOutput === undefined ? undefined : BigInt(audioOutput),
    cacheWriteHour: cacheWriteHour === undefined ? undefined : BigInt(cacheWriteHour),
    amounts: amounts && {
      amounts: Object.entries(amounts).map(([unit, { input, output }]) => ({ unit, input: BigInt(input), output: BigInt(output) })),
    },
    image,
  };
}

function smallUsage(usage: TokenUsage | undefined): Usage {
  const audio = count(usage, "audio");
  const audioOutput = usage?.audioOutput === undefined ? undefined : countOf("audioOutput", usage.audioOutput);
  if (audioOutput !== undefined && audioOutput > audio)
    throw new AppError("VALIDATION_ERROR", "usage.audioOutput is larger than usage.audio");
  const small: Usage = {
    input: count(usage, "input"),
    cachedInput: count(usage, "cachedInput"),
    cacheWrite: count(usage, "cacheWrite"),
    output: count(usage, "output"),
    reasoning: count(usage, "reasoning"),
    audio,
    total: count(usage, "total"),
    source: usage?.source === "estimated" ? "estimated" : "provider",
  };
  if (audioOutput !== undefined) small.audioOutput = audioOutput;
  const cacheWriteHour = usage?.cacheWriteHour === undefined ? undefined : countOf("cacheWriteHour", usage.cacheWriteHour);
  if (cacheWriteHour !== undefined && cacheWriteHour > small.cacheWrite)
    throw new AppError("VALIDATION_ERROR", "usage.cacheWriteHour is larger than usage.cacheWrite");
  if (cacheWriteHour !== undefined) small.cacheWriteHour = cacheWriteHour;
  const amounts = usage?.amounts && smallAmounts(usage.amounts);
  if (amounts) small.amounts = amounts;
  if (usage?.image !== undefined) small.image = imageOf(usage.image);
  return small;
}

function imageOf(name: string): string {
  if (isImageName(name)) return name;
  throw new AppError("VALIDATION_ERROR", "usage.image must be a size, a quality, or quality/size");
}

/** Sorted by unit, because the hash of a row covers the order. */
function smallAmounts(reported: NonNullable<TokenUsage["amounts"]>): UnitAmounts | undefined {
  const byUnit = new Map(reported.amounts.map((amount) => [amount.unit, amount]));
  const amounts: UnitAmounts = {};
  for (const unit of AMOUNT_NAMES) {
    const amount = byUnit.get(unit);
    if (!amount) continue;
    amounts[unit] = { input: countOf(unit, amount.input), output: countOf(unit, amount.output) };
  }
  return Object.keys(amounts).length > 0 ? amounts : undefined;
}

function count(usage: TokenUsage | undefined, name: (typeof CLASSES)[number]): number {
  return countOf(name, usage?.[name] ?? 0n);
}

function countOf(name: string, reported: bigint): number {
  const value = Number(reported);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new AppError("VALIDATION_ERROR", `usage.${name} must be an integer from 0`);
}

function refuse(log: UsageLog, reason: string): AppError {
  return new AppError("VALIDATION_ERROR", `The settlement of ${log.callId} is not valid: ${reason}.`);
}
