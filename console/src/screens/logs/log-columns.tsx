import type { ReactNode } from "react";
import type { UsageLog } from "../../api/types.ts";
import { Usd } from "../../components/usd.tsx";
import { usdOf } from "../../format/money.ts";
import { formatMs } from "../../format/text.ts";
import type { LogSort } from "./log-filter.ts";

/** A column that people may choose. The first three and the cost are always there. */
export interface LogColumn {
  readonly title: string;
  readonly width: string;
  readonly isNumber?: boolean;
  readonly sort?: LogSort;
  readonly cell: (log: UsageLog) => ReactNode;
}

const tokens = (amount: number) => amount.toLocaleString("en-US");

/** In the order in which they are shown. */
export const LOG_COLUMNS = {
  key: { title: "Key", width: "minmax(90px, 1fr)", cell: (log) => <span title={log.maskedKey}>{log.apiKeyName}</span> },
  team: { title: "Team", width: "minmax(80px, 1fr)", cell: (log) => log.teamName },
  user: { title: "End user", width: "minmax(80px, 1fr)", cell: (log) => log.endUser },
  provider: { title: "Provider", width: "minmax(80px, 1fr)", cell: (log) => log.provider },
  http: { title: "HTTP", width: "52px", isNumber: true, cell: (log) => log.httpStatus },
  error: { title: "Error", width: "minmax(90px, 1fr)", cell: (log) => log.errorCode },
  attempts: { title: "Attempts", width: "72px", isNumber: true, cell: (log) => log.attempts },
  input: { title: "Input", width: "76px", isNumber: true, cell: (log) => tokens(log.usage.input) },
  output: { title: "Output", width: "76px", isNumber: true, cell: (log) => tokens(log.usage.output) },
  tokens: { title: "Tokens", width: "84px", isNumber: true, sort: "tokens", cell: (log) => tokens(log.usage.total) },
  first: { title: "First token", width: "92px", isNumber: true, cell: (log) => log.firstTokenMs !== null && formatMs(log.firstTokenMs) },
  latency: { title: "Latency", width: "84px", isNumber: true, sort: "latencyMs", cell: (log) => formatMs(log.latencyMs) },
  reserved: {
    title: "Reserved",
    width: "84px",
    isNumber: true,
    cell: (log) => log.reserved !== null && <Usd amount={usdOf(log.reserved)} />,
  },
} as const satisfies Readonly<Record<string, LogColumn>>;

export type LogColumnName = keyof typeof LOG_COLUMNS;

const DEFAULT_COLUMNS: readonly LogColumnName[] = ["key", "team", "tokens", "latency"];

/** The chosen columns, in the order of the table; unknown names of another version are left out. */
export function chosenColumns(names: unknown): readonly LogColumnName[] {
  if (!Array.isArray(names)) return DEFAULT_COLUMNS;
  return (Object.keys(LOG_COLUMNS) as LogColumnName[]).filter((name) => names.includes(name));
}
