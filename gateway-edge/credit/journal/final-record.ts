import type { TokenUsage, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type Absent, packr } from "./records.ts";

/** A finished call at its place in the journal; the ledger takes them in the order of their sequence. */
export interface Settlement {
  readonly sequence: number;
  readonly log: UsageLog;
}

/** Every field of a row by position, in the order of its declaration; only ever added to at the end. */
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

export function packFinal(log: UsageLog): Buffer {
  const fields: FinalFields = [
    log.callId,
    log.createdAt?.getTime() ?? null,
    log.completedAt?.getTime() ?? null,
    log.organizationId,
    log.teamId,
    log.teamName,
    log.apiKeyId,
    log.apiKeyName,
    log.maskedKey,
    log.userId ?? null,
    log.endUser ?? null,
    log.endpoint,
    log.model,
    log.deploymentId,
    log.provider,
    log.type,
    log.stream,
    log.status,
    log.httpStatus,
    log.errorCode ?? null,
    log.usage ? tokenFields(log.usage) : null,
    log.cost,
    log.priceVersion,
    log.cacheHit,
    log.attempts,
    log.fallbackFrom ?? null,
    log.latencyMs,
    log.firstTokenMs ?? null,
    log.overheadUs,
    log.tags,
    log.ledgerSeq ?? null,
    log.onceFor ?? null,
  ];
  return packr.pack(fields);
}

export function unpackFinal(payload: Uint8Array): UsageLog {
  const fields = packr.unpack(payload) as FinalFields;
  const [callId, createdAtMs, completedAtMs, organizationId, teamId, teamName, apiKeyId, apiKeyName, maskedKey] = fields;
  const usage = fields[20];
  const log: Whole<UsageLog> = {
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
  return log;
}

/** Every key has to be named, the optional ones too: a field added to the row cannot be forgotten here. */
type Whole<T> = { [Key in keyof Required<T>]: T[Key] };

function tokenFields(usage: TokenUsage): TokenFields {
  const { input, cachedInput, cacheWrite, output, reasoning, audio, total, source, audioOutput, amounts } = usage;
  if (audioOutput === undefined && !amounts) return [input, cachedInput, cacheWrite, output, reasoning, audio, total, source];
  const units = amounts?.amounts.map((each): [string, bigint, bigint] => [each.unit, each.input, each.output]) ?? [];
  return [input, cachedInput, cacheWrite, output, reasoning, audio, total, source, audioOutput ?? null, units];
}

function tokensOf(fields: TokenFields): TokenUsage {
  const [input, cachedInput, cacheWrite, output, reasoning, audio, total, source, audioOutput, units = []] = fields;
  const amounts = units.map(([unit, unitInput, unitOutput]) => ({ unit, input: unitInput, output: unitOutput }));
  const counts = { input, cachedInput, cacheWrite, output, reasoning, audio, total, source };
  return { ...counts, audioOutput: audioOutput ?? undefined, amounts: amounts.length > 0 ? { amounts } : undefined };
}

function dateOf(milliseconds: Absent<number>): Date | undefined {
  return milliseconds === null ? undefined : new Date(milliseconds);
}
