import type { CallOptions } from "../../../common/grpc/client.ts";
import { toJson } from "../../../common/json.ts";
import type { LogFilter } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { sessionTag } from "../../calls/inference/jobs/gateway-fields.ts";
import { traceTag } from "../../calls/tracing/trace-tag.ts";
import type { EdgeDeps } from "../../deps.ts";
import { lastDays } from "../../schemas/date-range.ts";
import { idParams } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/usage.ts";
import { ContentStream } from "../middleware/content-stream.ts";
import { DEADLINE_MS, type Operation, operation } from "../middleware/operation.ts";
import { CSV_HEADER, csvRow, type LogRecord } from "./logs-csv.ts";
import { presentList, sent } from "./present.ts";
import { presentTotals, presentUsageBucket, presentUsageLog } from "./present-usage.ts";

const tag = "Usage";
const USAGE_DAYS = 30;

export function usageOperations(deps: EdgeDeps): Operation[] {
  return [listLogs(deps), getLog(deps), getUsage(deps)];
}

const listLogs = (deps: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/logs",
    summary: "List the calls of the active organization, newest first or by `sort`, as JSON, or all of them as CSV or JSON lines",
    tag,
    auth: "user",
    query: schemas.listLogsQuery,
    status: 200,
    answer: schemas.listLogsAnswer,
    handler: async ({ query }, call) => {
      const filter = toFilter(query);
      const { page, pageSize, cursor, format } = query;
      const sort = query.sort.slice("-".length);
      if (format !== "json") {
        const { contentType, ...written } = EXPORTS[format];
        const parts = exportLogs(deps, { filter, ...written }, () => call.read(DEADLINE_MS.export));
        return new ContentStream({ contentType, fileName: `usage-logs.${format}`, parts });
      }
      const answer = await deps.control.usage.listLogs({ filter, page: { page, pageSize }, cursor, export: false, sort }, call.read());
      const { data, meta } = presentList(answer.logs, answer.meta, presentUsageLog);
      const { nextCursor = null, partial, totalsExact } = answer;
      return { data, meta: { ...meta, nextCursor, partial, totals: presentTotals(answer.totals), totalsExact } };
    },
  });

const getLog = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/logs/:id",
    summary: "Retrieve a call by its id",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.logAnswer,
    handler: async ({ params }, call) => {
      const { log } = await control.usage.getLog(params, call.read());
      return { log: presentUsageLog(sent(log, "log")) };
    },
  });

const getUsage = ({ control, clock }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/gw/usage",
    summary: "Usage by time and group; by default of the last 30 days",
    tag,
    auth: "user",
    query: schemas.usageQuery,
    status: 200,
    answer: schemas.usageAnswer,
    handler: async ({ query }, call) => {
      const filter = toFilter(query);
      const start = filter.start ?? lastDays(USAGE_DAYS, { end: filter.end ?? new Date(clock.now()), tz: query.tz });
      const { groupBy, interval, tz: timezone } = query;
      const request = { filter: { ...filter, start }, groupBy, interval, timezone };
      const { buckets, totals } = await control.usage.getUsage(request, call.read());
      return { data: buckets.map(presentUsageBucket), meta: { totals: presentTotals(totals) } };
    },
  });

function toFilter(query: schemas.LogFilterFields): LogFilter {
  const { range, apiKey, team_id: teamId, model, provider, status, search, endUser, tag, session, trace_id: traceId } = query;
  const tags = [tag, session && sessionTag(session), traceId && traceTag(traceId)].filter((each) => each !== undefined);
  return { start: range.start, end: range.end, apiKey, teamId, model, provider, status, search, endUser, tags };
}

interface ExportFormat {
  readonly header: string;
  readonly row: (log: LogRecord) => string;
}

/** The files that the calls of a filter can be exported as. */
const EXPORTS: Readonly<Record<"csv" | "jsonl", ExportFormat & { readonly contentType: string }>> = {
  csv: { contentType: "text/csv; charset=utf-8", header: CSV_HEADER, row: csvRow },
  jsonl: { contentType: "application/jsonl; charset=utf-8", header: "", row: (log) => `${toJson(log)}\n` },
};

/** Page by page, so that an export of any length takes the memory of one page. */
async function* exportLogs(
  { control }: EdgeDeps,
  { filter, header, row }: ExportFormat & { filter: LogFilter },
  options: () => CallOptions,
): AsyncGenerator<string> {
  let cursor: string | undefined;
  let text = header;
  do {
    const { logs, nextCursor } = await control.usage.listLogs({ filter, page: undefined, cursor, export: true, sort: "" }, options());
    for (const log of logs) text += row(presentUsageLog(log));
    // An answer may have no rows although the search continues with the next cursor.
    if (text !== "") yield text;
    text = "";
    cursor = nextCursor;
  } while (cursor !== undefined);
}
