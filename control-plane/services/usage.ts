import { AppError } from "../../common/errors.ts";
import type { ServiceHandlers } from "../../common/grpc/server.ts";
import type { Totals, UsageBucket, UsageServiceService } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { Rollup, UsageRow } from "../domain/records.ts";
import { bucketNamer, type Interval, isTimezone } from "../domain/time-buckets.ts";
import type { Reader } from "../stores/store.ts";
import { requireActor } from "./actor.ts";
import type { ControlDeps } from "./deps.ts";
import { metaOf, pageOf } from "./messages.ts";
import { UsageBuckets } from "./usage-buckets.ts";
import { usageMessage } from "./usage-messages.ts";
import { matchingRows, matchingSums, prepareQuery, requireRow, type UsageQuery } from "./usage-query.ts";

const EXPORT_PAGE_SIZE = 1000;
/** Well below the largest message: callers choose what their rows hold. */
const EXPORT_PAGE_BYTES_MAX = 2 * 1024 * 1024;
const NO_TOTALS: Totals = { requests: 0n, tokens: 0n, cost: 0n };

export function usageHandlers(deps: ControlDeps): ServiceHandlers<typeof UsageServiceService> {
  return {
    async listLogs(request, context) {
      const actor = await requireActor(deps, context);
      await deps.edges.caughtUp();
      const query = await prepareQuery(deps, actor, request.filter);
      const page = request.export ? { page: 1, pageSize: EXPORT_PAGE_SIZE } : pageOf(request.page);
      const after = request.cursor === undefined ? undefined : readCursor(request.cursor);
      const skip = after ? 0 : (page.page - 1) * page.pageSize;
      const { rows: shown, isMore } = await takeRows(matchingRows(deps.store, query, after), {
        skip,
        limit: page.pageSize,
        bytesMax: request.export ? EXPORT_PAGE_BYTES_MAX : Number.POSITIVE_INFINITY,
      });
      const totals = request.export ? NO_TOTALS : await sumUp(deps.store, query);
      return {
        logs: shown.map(usageMessage),
        meta: metaOf(page, Number(totals.requests)),
        nextCursor: isMore ? writeCursor(shown.at(-1)) : undefined,
        totals,
      };
    },

    async getLog(request, context) {
      const actor = await requireActor(deps, context);
      return { log: usageMessage(await requireRow(deps, actor, request.id)) };
    },

    async getUsage(request, context) {
      const actor = await requireActor(deps, context);
      await deps.edges.caughtUp();
      const query = await prepareQuery(deps, actor, request.filter);
      if (!isTimezone(request.timezone)) throw new AppError("VALIDATION_ERROR", `"${request.timezone}" is not a time zone.`);
      const nameBucket = bucketNamer(intervalOf(request.interval), request.timezone);
      const groupOf = grouper(request.groupBy);
      const buckets = new UsageBuckets();
      for await (const sum of matchingSums(deps.store, query)) {
        buckets.add({ bucket: nameBucket(sum.bucketAt), group: groupOf(sum) }, sum);
      }
      const sorted = buckets.sorted();
      return { buckets: sorted, totals: totalsOf(sorted) };
    },
  };
}

/** As many as wanted, or as fit, and whether there are more. */
async function takeRows(
  rows: AsyncIterable<UsageRow>,
  { skip, limit, bytesMax }: { skip: number; limit: number; bytesMax: number },
): Promise<{ rows: UsageRow[]; isMore: boolean }> {
  const taken: UsageRow[] = [];
  let [seen, bytes] = [0, 0];
  for await (const row of rows) {
    if (seen++ < skip) continue;
    bytes += bytesAtMost(row);
    const isFull = taken.length === limit || (bytes > bytesMax && taken.length > 0);
    if (isFull) return { rows: taken, isMore: true };
    taken.push(row);
  }
  return { rows: taken, isMore: false };
}

const ROW_NUMBERS_BYTES = 256;
/** Of UTF-8, for each character of JavaScript's. */
const BYTES_PER_CHARACTER = 3;

function bytesAtMost(row: UsageRow): number {
  const texts = [...Object.values(row), ...row.tags].filter((value) => typeof value === "string");
  return ROW_NUMBERS_BYTES + texts.reduce((sum, text) => sum + text.length * BYTES_PER_CHARACTER + BYTES_PER_CHARACTER, 0);
}

async function sumUp(reader: Reader, query: UsageQuery): Promise<Totals> {
  const totals: Totals = { requests: 0n, tokens: 0n, cost: 0n };
  for await (const sum of matchingSums(reader, query)) {
    totals.requests += BigInt(sum.requests);
    totals.tokens += BigInt(sum.total);
    totals.cost += sum.cost;
  }
  return totals;
}

function totalsOf(buckets: readonly UsageBucket[]): Totals {
  return buckets.reduce<Totals>(
    (totals, bucket) => ({
      requests: totals.requests + bucket.requests,
      tokens: totals.tokens + bucket.total,
      cost: totals.cost + bucket.cost,
    }),
    { requests: 0n, tokens: 0n, cost: 0n },
  );
}

function intervalOf(name: string): Interval {
  if (name === "hour" || name === "day" || name === "month" || name === "all") return name;
  throw new AppError("VALIDATION_ERROR", "An interval is hour, day, month or all.");
}

function grouper(groupBy: string): (sum: Rollup) => string {
  switch (groupBy) {
    case "model":
      return (sum) => sum.model;
    case "provider":
      return (sum) => sum.provider;
    case "team":
      return (sum) => sum.teamId;
    case "key":
      return (sum) => sum.apiKeyId;
    case "user":
      return (sum) => String(sum.userId);
    case "status":
      return (sum) => sum.status;
    case "none":
      return () => "all";
    default:
      throw new AppError("VALIDATION_ERROR", "groupBy is model, provider, team, key, user, status or none.");
  }
}

function writeCursor(row: UsageRow | undefined): string | undefined {
  return row && Buffer.from(JSON.stringify([row.createdAt, row.id])).toString("base64url");
}

function readCursor(text: string): { createdAt: number; id: string } {
  try {
    const [createdAt, id] = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as unknown[];
    if (typeof createdAt === "number" && typeof id === "string") return { createdAt, id };
  } catch {
    // Told below, like any other cursor that we did not write.
  }
  throw new AppError("VALIDATION_ERROR", "The cursor is not one of ours.", {
    details: [{ path: "query.cursor", message: "is not valid" }],
  });
}
