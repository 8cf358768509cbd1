import type { TokenUsage, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type Absent, packr } from "./records.ts";

// Finals as 0.1.0 wrote them. Nothing writes this format any more; it is removed in the release after the next, when no journal of that
// version can be left.

/** The fields of a row by position. */
type FinalFields = [
  callId: string,
  createdAtMs: Absent<number>,
  completedAtMs: Absent<number>,
  organizationId: string,
  teamId: string,
  teamName: string,
  apiKeyId: string,
  apiKeyName: string,
  maskedKey: string,
  userId: Absent<bigint>,
  endUser: Absent<string>,
  endpoint: string,
  model: string,
  deploymentId: string,
  provider: string,
  type: string,
  stream: boolean,
  status: string,
  httpStatus: number,
  errorCode: Absent<string>,
  usage: Absent<TokenFields>,
  cost: bigint,
  priceVersion: number,
  cacheHit: boolean,
  attempts: number,
  fallbackFrom: Absent<string>,
  latencyMs: number,
  firstTokenMs: Absent<number>,
  overheadUs: number,
  tags: string[],
  ledgerSeq: Absent<bigint>,
  onceFor: Absent<string>,
];

/** The last two are missing in records of calls that have neither, and in those of an earlier version. */
type TokenFields = [
  ...counts: [bigint, bigint, bigint, bigint, bigint, bigint, bigint],
  source: string,
  audioOutput?: Absent<bigint>,
  amounts?: [unit: string, input: bigint, output: bigint][],
];

export function unpackPositionalFinal(payload: Uint8Array): UsageLog {
  const fields = packr.unpack(payload) as FinalFields;
  const [callId, createdAtMs, completedAtMs, organizationId, teamId, teamName, apiKeyId, apiKeyName, maskedKey] = fields;
  const usage = fields[20];
  return {
    attemptsDetail: [],
    callId,
    createdAt: dateOf(createdAtMs),
    completedAt: dateOf(completedAtMs),
    organizationId,
    teamId,
    teamName,
    apiKeyId,
    apiKeyName,
    maskedKey,
    userId: fields[9] ?? undefined,
    endUser: fields[10] ?? undefined,
    endpoint: fields[11],
    model: fields[12],
    deploymentId: fields[13],
    provider: fields[14],
    type: fields[15],
    stream: fields[16],
    status: fields[17],
    httpStatus: fields[18],
    errorCode: fields[19] ?? undefined,
    usage: usage ? tokensOf(usage) : undefined,
    cost: fields[21],
    priceVersion: fields[22],
    cacheHit: fields[23],
    attempts: fields[24],
    fallbackFrom: fields[25] ?? undefined,
    latencyMs: fields[26],
    firstTokenMs: fields[27] ?? undefined,
    overheadUs: fields[28],
    tags: fields[29],
    ledgerSeq: fields[30] ?? undefined,
    onceFor: fields[31] ?? undefined,
  };
}

function tokensOf(fields: TokenFields): TokenUsage {
  const [input, cachedInput, cacheWrite, output, reasoning, audio, total, source, audioOutput, units = []] = fields;
  const amounts = units.map(([unit, unitInput, unitOutput]) => ({ unit, input: unitInput, output: unitOutput }));
  const counts = { input, cachedInput, cacheWrite, output, reasoning, audio, total, source };
  return {
    ...counts,
    audioOutput: audioOutput ?? undefined,
    cacheWriteHour: undefined,
    amounts: amounts.length > 0 ? { amounts } : undefined,
  };
}

function dateOf(milliseconds: Absent<number>): Date | undefined {
  return milliseconds === null ? undefined : new Date(milliseconds);
}
