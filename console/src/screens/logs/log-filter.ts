import { USAGE_STATUSES } from "../../../../common/usage-status.ts";
import type { Query } from "../../api/client.ts";
import { RANGES, type RangeName, rangeStart } from "../../components/time-range.ts";

/** Filters of the logs, from the URL. `from` and `to` are times and override a named range. */
export interface LogFilter {
  readonly range: RangeName | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly apiKey: string | undefined;
  readonly team: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly status: string | undefined;
  readonly search: string | undefined;
  /** Exact end user and tag. */
  readonly endUser: string | undefined;
  readonly tag: string | undefined;
  /** Time zone of dates; by default the organization's. */
  readonly timeZone: string | undefined;
}

export const LOG_STATES = USAGE_STATUSES;

/** What the table can be sorted by, largest first, instead of by time. */
export const LOG_SORTS = ["cost", "tokens", "latencyMs"] as const;
export type LogSort = (typeof LOG_SORTS)[number];

/** Undefined: newest first. */
export const readSort = (text: unknown): LogSort | undefined => LOG_SORTS.find((sort) => sort === text);

export function readLogFilter(address: Readonly<Record<string, unknown>>): LogFilter {
  const text = (name: string) => (address[name] === undefined ? undefined : String(address[name]));
  const range = text("range");
  return {
    range: range !== undefined && Object.hasOwn(RANGES, range) ? (range as RangeName) : undefined,
    from: text("from"),
    to: text("to"),
    apiKey: text("apiKey"),
    team: text("team"),
    model: text("model"),
    provider: text("provider"),
    status: LOG_STATES.find((state) => state === text("status")),
    search: text("search"),
    endUser: text("endUser"),
    tag: text("tag"),
    timeZone: text("tz"),
  };
}

/** The filters as an API query. */
export function logsAskedFor(filter: LogFilter, { now, timeZone }: { now: number; timeZone: string }): Query {
  const { range, from, to, apiKey, team, model, provider, status, search, endUser, tag } = filter;
  return {
    startDate: from ?? (range === undefined ? undefined : rangeStart(range, { now, timeZone })),
    endDate: to,
    tz: timeZone,
    apiKey,
    team_id: team,
    model,
    provider,
    status,
    search,
    endUser,
    tag,
  };
}
