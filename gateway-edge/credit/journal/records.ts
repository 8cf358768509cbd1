import { Packr } from "msgpackr";
import { defined } from "../../../common/defined.ts";
import type { FeePrices } from "../../../common/fees.ts";
import type { PriceUnit } from "../../../common/pricing.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { CallIdentity } from "../call-identity.ts";
import type { Prices } from "../pricing/price.ts";
import type { Usage } from "../pricing/usage.ts";
import { IntentBytes } from "./intent-bytes.ts";

/** An admitted call: everything that a usage row needs if no further record of the call follows. */
export interface Intent extends CallIdentity {
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  readonly worstCase: bigint;
  readonly tags: readonly string[];
}

/** The deployment that answers a call, and its prices. */
export interface ServedRecord {
  readonly callId: string;
  readonly deploymentId: string;
  readonly provider: string;
  /** The model of the row: after a fallback, the group that answers. */
  readonly model: string;
  readonly type: string;
  readonly priceVersion: number;
  /** Undefined: the call is free. */
  readonly prices: Prices | undefined;
  readonly attempts: number;
  readonly fallbackFrom: string | undefined;
}

/** Totals delivered so far, not since the previous record. */
export interface Progress {
  readonly callId: string;
  /** Since the call was created. */
  readonly elapsedMs: number;
  readonly firstTokenMs: number | undefined;
  readonly usage: Usage;
}

/** Stored on disk: a number never changes its meaning. */
export const RECORD_TYPE = { intent: 1, served: 2, progress: 3, positionalFinal: 4, acknowledged: 5, final: 6 } as const;

export type RecordType = (typeof RECORD_TYPE)[keyof typeof RECORD_TYPE];

// Arrays by position, no maps and no shared structures: small, fast, and each record can be read alone. Fields are only added at the end.
// Bigints stay bigints: msgpackr writes them as 64-bit integers and larger numbers as floats.
export const packr = new Packr({ useRecords: false, int64AsType: "bigint" });

/** An absent field is written as null. */
export type Absent<T> = T | null;
type IntentFields = [
  callId: string,
  createdAtMs: number,
  endpoint: string,
  organizationId: string,
  teamId: string,
  teamName: string,
  apiKeyId: string,
  apiKeyName: string,
  maskedKey: string,
  userId: Absent<bigint>,
  endUser: Absent<string>,
  model: string,
  type: string,
  stream: boolean,
  worstCase: bigint,
  tags: readonly string[],
  onceFor: Absent<string>,
];
const INTENT_FIELDS: IntentFields["length"] = 17;

const intentBytes = new IntentBytes((fields) => packr.pack(fields));

export function packIntent(intent: Intent): Buffer {
  const { callId, createdAtMs, worstCase, tags, onceFor = null } = intent;
  const shared = [
    intent.endpoint,
    intent.organizationId,
    intent.teamId,
    intent.teamName,
    intent.apiKeyId,
    intent.apiKeyName,
    intent.maskedKey,
    intent.userId ?? null,
    intent.endUser ?? null,
    intent.model,
    intent.type,
    intent.stream,
  ] as const;
  const isPlain = tags.length === 0 && onceFor === null;
  const bytes = isPlain ? intentBytes.pack(intent.apiKeyId, { count: INTENT_FIELDS, callId, createdAtMs, shared, worstCase }) : undefined;
  if (bytes) return bytes;
  const fields: IntentFields = [callId, createdAtMs, ...shared, worstCase, tags, onceFor];
  return packr.pack(fields);
}

export function unpackIntent(payload: Uint8Array): Intent {
  const fields = packr.unpack(payload) as IntentFields;
  const [callId, createdAtMs, endpoint, organizationId, teamId, teamName, apiKeyId, apiKeyName, maskedKey, userId, endUser, ...rest] =
    fields;
  const [model, type, stream, worstCase, tags, onceFor] = rest;
  const who = { callId, organizationId, teamId, teamName, apiKeyId, apiKeyName, maskedKey, userId: userId ?? undefined };
  const what = { createdAtMs, endpoint, model, type, stream, worstCase, tags };
  return { ...who, ...what, endUser: endUser ?? undefined, onceFor: onceFor ?? undefined };
}

type ServedFields = [
  callId: string,
  deploymentId: string,
  provider: string,
  model: string,
  type: string,
  priceVersion: number,
  prices: Absent<PriceFields>,
  attempts: number,
  fallbackFrom: Absent<string>,
];

export function packServed(served: ServedRecord): Buffer {
  const { callId, deploymentId, provider, model, type, priceVersion, prices, attempts, fallbackFrom = null } = served;
  const fields: ServedFields = [
    callId,
    deploymentId,
    provider,
    model,
    type,
    priceVersion,
    prices ? priceFields(prices) : null,
    attempts,
    fallbackFrom,
  ];
  return packr.pack(fields);
}

export function unpackServed(payload: Uint8Array): ServedRecord {
  const [callId, deploymentId, provider, model, type, priceVersion, prices, attempts, fallbackFrom] = packr.unpack(payload) as ServedFields;
  const rest = { prices: prices ? pricesOf(prices) : undefined, attempts, fallbackFrom: fallbackFrom ?? undefined };
  return { callId, deploymentId, provider, model, type, priceVersion, ...rest };
}

type PriceFields = [
  unit: Absent<PriceUnit>,
  input: bigint,
  output: bigint,
  cachedInput: Absent<bigint>,
  cacheWrite: Absent<bigint>,
  audioInput: Absent<bigint>,
  audioOutput: Absent<bigint>,
  /** Missing in records of an earlier version. */
  cacheWriteHour?: Absent<bigint>,
  webSearch?: Absent<bigint>,
  fees?: Absent<FeePrices>,
];

/** Only the fields that price a call: a catalog row has more. */
function priceFields(prices: Prices): PriceFields {
  const { unit = null, input, output, cachedInput = null, cacheWrite = null, audioInput = null, audioOutput = null } = prices;
  const { cacheWriteHour = null, webSearch = null, fees = null } = prices;
  return [unit, input, output, cachedInput, cacheWrite, audioInput, audioOutput, cacheWriteHour, webSearch, fees];
}

function pricesOf([unit, input, output, cachedInput, cacheWrite, audioInput, audioOutput, ...later]: PriceFields): Prices {
  const [cacheWriteHour, webSearch, fees] = later;
  const classes = { cachedInput: cachedInput ?? undefined, cacheWrite: cacheWrite ?? undefined };
  const sound = { audioInput: audioInput ?? undefined, audioOutput: audioOutput ?? undefined };
  const others = defined({ cacheWriteHour: cacheWriteHour ?? undefined, webSearch: webSearch ?? undefined, fees: fees ?? undefined });
  return { ...(unit === null ? {} : { unit }), input, output, ...classes, ...sound, ...others };
}

type ProgressFields = [
  callId: string,
  elapsedMs: number,
  firstTokenMs: Absent<number>,
  input: number,
  cachedInput: number,
  cacheWrite: number,
  output: number,
  reasoning: number,
  audioInput: number,
  audioOutput: number,
  amounts: Absent<NonNullable<Usage["amounts"]>>,
];

export function packProgress({ callId, elapsedMs, firstTokenMs, usage }: Progress): Buffer {
  const { input, cachedInput, cacheWrite, output, reasoning, audioInput, audioOutput, amounts = null } = usage;
  // biome-ignore format: one row, as it is written.
  const fields: ProgressFields = [callId, elapsedMs, firstTokenMs ?? null, input, cachedInput, cacheWrite, output, reasoning, audioInput, audioOutput, amounts];
  return packr.pack(fields);
}

export function unpackProgress(payload: Uint8Array): Progress {
  const [callId, elapsedMs, firstTokenMs, input, cachedInput, cacheWrite, output, ...rest] = packr.unpack(payload) as ProgressFields;
  const [reasoning, audioInput, audioOutput, amounts] = rest;
  const tokens = { input, cachedInput, cacheWrite, output, reasoning, audioInput, audioOutput };
  // The call has no final, so the provider's own count is not known.
  const usage: Usage = { ...tokens, amounts: amounts ?? undefined, source: "estimated" };
  return { callId, elapsedMs, firstTokenMs: firstTokenMs ?? undefined, usage };
}

export function packAcknowledged(sequence: number): Buffer {
  return packr.pack([sequence]);
}

export function unpackAcknowledged(payload: Uint8Array): number {
  const [sequence] = packr.unpack(payload) as [number];
  return sequence;
}

const [ARRAY_16, TEXT_8, TEXT_16] = [0xdc, 0xd9, 0xda];
const [SHORT_TEXT, SHORT_TEXT_MASK] = [0xa0, 0xe0];
/** Field 1 of a protobuf message, of varying length. */
const CALL_ID_TAG = 0x0a;

/** The call that an intent, served, progress or final belongs to: its first field, read without the others. */
export function callIdOf(type: RecordType, payload: Buffer): string {
  if (type !== RECORD_TYPE.final) return packedCallId(payload);
  const length = payload[1] ?? 0;
  // The length of a longer text takes more than one byte; no call id is that long.
  return payload[0] === CALL_ID_TAG && length < 128 ? payload.toString("utf8", 2, 2 + length) : UsageLog.decode(payload).callId;
}

function packedCallId(payload: Buffer): string {
  const at = payload[0] === ARRAY_16 ? 3 : 1;
  const head = payload[at] ?? 0;
  if ((head & SHORT_TEXT_MASK) === SHORT_TEXT) return payload.toString("utf8", at + 1, at + 1 + (head & ~SHORT_TEXT_MASK));
  if (head === TEXT_8) return payload.toString("utf8", at + 2, at + 2 + payload.readUInt8(at + 1));
  if (head === TEXT_16) return payload.toString("utf8", at + 3, at + 3 + payload.readUInt16BE(at + 1));
  return (packr.unpack(payload) as [string])[0];
}
