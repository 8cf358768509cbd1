import { z } from "zod";
import { USAGE_STATUSES } from "../../../common/usage-status.ts";
import { type DateRange, readDateRange } from "../date-range.ts";
import { id, paging, plainText, search, timeZone } from "../fields.ts";
import { pageMeta, totalsRecord, usageBucketRecord, usageLogRecord } from "../records.ts";

/** The query fields of a range of dates; `rangeOf` reads them. */
export const dateFilters = {
  startDate: z.string().max(40).optional(),
  endDate: z.string().max(40).optional(),
  tz: timeZone.default("UTC"),
};

const SESSION_LENGTH_MAX = 256;

/** Filters of logs and usage. */
const filters = {
  ...dateFilters,
  apiKey: plainText(256).optional(),
  team_id: id.optional(),
  model: plainText(200).optional(),
  provider: plainText(128).optional(),
  status: z.enum(USAGE_STATUSES).optional(),
  search: search.optional(),
  endUser: plainText(256).optional().describe("Exactly this end user (`user` of the request)."),
  tag: plainText(64).optional().describe("Calls with exactly this tag (`metadata.tags` of the request)."),
  trace_id: z
    .string()
    .regex(/^[0-9a-fA-F]{32}$/, "must be 32 hexadecimal digits, the second part of a `traceparent`")
    .toLowerCase()
    .optional()
    .describe("Calls of this W3C trace (`traceparent` of the request)."),
  session: plainText(SESSION_LENGTH_MAX).optional().describe("Calls of this session (`metadata.session_id` of the request)."),
};

export const listLogsQuery = z
  .object({
    ...filters,
    ...paging,
    cursor: plainText(512).optional(),
    sort: z
      .enum(["-createdAt", "-cost", "-tokens", "-latencyMs"])
      .default("-createdAt")
      .describe("Newest, dearest, longest or slowest calls first. Files are newest first."),
    format: z
      .enum(["json", "csv", "jsonl"])
      .default("json")
      .describe("`csv` and `jsonl` (a JSON object a line) are a file of all matching calls, not a page."),
  })
  .refine(({ format, sort }) => format === "json" || sort === "-createdAt", {
    path: ["sort"],
    message: "files are sorted by -createdAt only",
  })
  .transform((query, context) => ({ ...query, range: rangeOf(query, context) }));
export const listLogsAnswer = z.object({
  data: z.array(usageLogRecord),
  meta: pageMeta
    .extend({
      nextCursor: z.string().nullable(),
      partial: z
        .boolean()
        .describe(
          "The search ended before the page was full, to leave calls undisturbed. Continue with `nextCursor`. With `sort`: only the newest part of the log was sorted.",
        ),
      totals: totalsRecord,
      totalsExact: z.boolean().describe("`false`: `totals`, `total` and `totalPages` count only the part of the log that was searched."),
    })
    .meta({ id: "LogsMeta" }),
});
export const logAnswer = z.object({ log: usageLogRecord });

const INTERVALS = ["hour", "day", "month", "all"] as const;

/** `groupBy=day` and the like mean an interval without groups. */
export const usageQuery = z
  .object({
    ...filters,
    groupBy: z.enum(["none", "model", "provider", "team", "key", "user", "status", "hour", "day", "month"]).default("none"),
    interval: z.enum(INTERVALS).optional(),
  })
  .transform((query, context) => {
    const named = INTERVALS.find((interval) => interval === query.groupBy);
    return {
      ...query,
      groupBy: named ? "none" : query.groupBy,
      interval: query.interval ?? named ?? "day",
      range: rangeOf(query, context),
    };
  });
export const usageAnswer = z.object({ data: z.array(usageBucketRecord), meta: z.object({ totals: totalsRecord }) });

export type LogFilterFields = z.output<typeof listLogsQuery> | z.output<typeof usageQuery>;

export function rangeOf(
  query: { startDate?: string | undefined; endDate?: string | undefined; tz: string },
  context: z.RefinementCtx,
): DateRange {
  const range = readDateRange(query);
  if ("start" in range) return range;
  context.addIssue({ code: "custom", path: [range.path], message: range.message });
  return { start: undefined, end: undefined };
}
