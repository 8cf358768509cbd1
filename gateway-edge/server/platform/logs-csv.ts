import type { z } from "zod";
import type { usageLogRecord } from "../../schemas/records.ts";

export type LogRecord = z.infer<typeof usageLogRecord>;
type Cell = string | number | bigint | boolean | Date | null;

/** The columns: name and value. */
const COLUMNS: readonly (readonly [name: string, cell: (log: LogRecord) => Cell])[] = [
  ["id", (log) => log.id],
  ["createdAt", (log) => log.createdAt],
  ["completedAt", (log) => log.completedAt],
  ["teamId", (log) => log.teamId],
  ["teamName", (log) => log.teamName],
  ["apiKeyId", (log) => log.apiKeyId],
  ["apiKeyName", (log) => log.apiKeyName],
  ["maskedKey", (log) => log.maskedKey],
  ["userId", (log) => log.userId],
  ["endUser", (log) => log.endUser],
  ["endpoint", (log) => log.endpoint],
  ["model", (log) => log.model],
  ["provider", (log) => log.provider],
  ["type", (log) => log.type],
  ["stream", (log) => log.stream],
  ["status", (log) => log.status],
  ["httpStatus", (log) => log.httpStatus],
  ["errorCode", (log) => log.errorCode],
  ["inputTokens", (log) => log.usage.input],
  ["cachedInputTokens", (log) => log.usage.cachedInput],
  ["cacheWriteTokens", (log) => log.usage.cacheWrite],
  ["outputTokens", (log) => log.usage.output],
  ["reasoningTokens", (log) => log.usage.reasoning],
  ["totalTokens", (log) => log.usage.total],
  ["usageSource", (log) => log.usage.source],
  ["cost", (log) => log.cost],
  ["costUsd", (log) => log.costUsd],
  ["latencyMs", (log) => log.latencyMs],
  ["firstTokenMs", (log) => log.firstTokenMs],
  ["cacheHit", (log) => log.cacheHit],
  ["attempts", (log) => log.attempts],
  ["tags", (log) => log.tags.join(" ")],
  ["ledgerSeq", (log) => log.ledgerSeq],
];

export const CSV_HEADER = `${COLUMNS.map(([name]) => name).join(",")}\r\n`;

/** RFC 4180. */
export function csvRow(log: LogRecord): string {
  return `${COLUMNS.map(([, cell]) => csvCell(cell(log))).join(",")}\r\n`;
}

/** A value as RFC 4180 writes it. */
export function csvCell(value: Cell): string {
  if (value === null) return "";
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "string") return String(value);
  // Prevents formula injection in spreadsheets: users choose the names of keys, teams and end users.
  const safe = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
