import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { slotOf } from "../../../common/slots.ts";
import type { UsageServiceService } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { NotOwner } from "../../domain/not-owner.ts";
import type { Rollup } from "../../domain/records.ts";
import { bucketNamer, type Interval, isTimezone } from "../../domain/time-buckets.ts";
import { requireActor } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, pageOf } from "../messages.ts";
import { UsageBuckets } from "./buckets.ts";
import { isIndexed, readIndexed, sortIndexed } from "./log-index/read-indexed.ts";
import { type LogSort, type RankedPosition, sortOf } from "./log-order.ts";
import type { LogPosition, UsageQuery } from "./log-walk.ts";
import { usageMessage } from "./messages.ts";
import { matchingSums, prepareQuery, requireRow } from "./query.ts";
import { type FoundLogs, type LogRequest, LogSums, readLogs } from "./read-logs.ts";
import { type SortedLogs, type SortedRequest, sortLogs } from "./sort-logs.ts";

const EXPORT_PAGE_SIZE = 1000;
/** Well below the largest message, because callers choose parts of their rows' content. */
const EXPORT_PAGE_BYTES_MAX = 2 * 1024 * 1024;

export function usageHandlers(deps: ControlDeps): ServiceHandlers<typeof UsageServiceService> {
  return {
    async listLogs(request, context) {
      const actor = await requireActor(deps, context);
      preferOwner(deps, actor.organizationId);
      await deps.edges.caughtUp(actor.organizationId);
      const query = await prepareQuery(deps, actor, request.filter);
      const page = request.export ? { page: 1, pageSize: EXPORT_PAGE_SIZE } : pageOf(request.page);
      const sort = sortOf(request.sort);
      const after = request.cursor === undefined ? undefined : readCursor(request.cursor, sort);
      const skip = after ? 0 : (page.page - 1) * page.pageSize;
      const limits = { limit: page.pageSize, bytesMax: request.export ? EXPORT_PAGE_BYTES_MAX : Number.POSITIVE_INFINITY };
      const { organizationId } = actor;
      const { signal } = context;
      return deps.logScans.run({ organizationId, signal }, async (budget) => {
        const wanted = { budget, after, skip, ...limits, withTotals: !request.export };
        const found = await findLogs(deps, { query, signal }, wanted, sort);
        const { rows, count, totals, totalsExact, nextPosition, isPartial } = found;
        return {
          logs: rows.map(usageMessage),
          meta: metaOf(page, count),
          nextCursor: nextPosition && writeCursor(nextPosition, sort),
          totals,
          partial: isPartial,
          totalsExact,
        };
      });
    },

    async getLog(request, context) {
      const actor = await requireActor(deps, context);
      return { log: usageMessage(await requireRow(deps, actor, request.id)) };
    },

    async getUsage(request, context) {
      const actor = await requireActor(deps, context);
      await deps.edges.caughtUp(actor.organizationId);
      const query = await prepareQuery(deps, actor, request.filter);
      if (!isTimezone(request.timezone))
        throw new AppError("VALIDATION_ERROR", `"${request.timezone}" is not a time zone. Use an IANA name such as Europe/Berlin.`);
      const nameBucket = bucketNamer(intervalOf(request.interval), request.timezone);
      const groupOf = grouper(request.groupBy);
      const buckets = new UsageBuckets();
      const withRefused = request.groupBy === "status" || request.filter?.status === "refused";
      const totals = new LogSums();
      const { organizationId } = actor;
      // Charts must be exact: a partial sum would look like less usage.
      await deps.logScans.run({ organizationId, signal: context.signal, isUnlimited: true }, async (budget) => {
        for await (const sum of matchingSums(deps.store, query, budget)) {
          totals.add(sum);
          // Charts show calls that were made; refusals only if they are asked for.
          if (sum.status === "refused" && !withRefused) continue;
          buckets.add({ bucket: nameBucket(sum.bucketAt), group: groupOf(sum), at: sum.bucketAt }, sum);
        }
      });
      return { buckets: buckets.sorted(), totals: totals.found.totals };
    },
  };
}

/** The owner of an organization has its log in memory, so it answers if there is one. */
function preferOwner({ slots }: Pick<ControlDeps, "slots">, organizationId: string): void {
  const slot = slotOf(organizationId, slots.count);
  if (!slots.isOwned(slot) && slots.ownerOf(slot)) throw new NotOwner(slot);
}

type Wanted = Omit<LogRequest, "after"> & { readonly after: RankedPosition | undefined };

/** From memory where that is possible; a scan that turns out to be long has the log read into memory for the next query. */
async function findLogs(
  { store, slots, logIndexes }: Pick<ControlDeps, "store" | "slots" | "logIndexes">,
  { query, signal }: { query: UsageQuery; signal: AbortSignal },
  wanted: Wanted,
  sort: LogSort,
): Promise<FoundLogs | SortedLogs> {
  const isOwned = () => slots.isOwned(slotOf(query.organizationId, slots.count));
  const index = isOwned() ? logIndexes.of(query.organizationId) : undefined;
  const sorted: SortedRequest | undefined = sort === "createdAt" ? undefined : { ...wanted, sort };
  if (index && isIndexed(index, sorted ? { skip: sorted.skip, after: undefined } : wanted)) {
    return sorted ? sortIndexed(store, { index, query, signal }, sorted) : readIndexed(store, { index, query, signal }, wanted);
  }
  const found = await (sorted ? sortLogs(store, query, sorted) : readLogs(store, query, wanted));
  if (isOwned() && wanted.budget.isLong) void logIndexes.build(query.organizationId);
  return found;
}

function intervalOf(name: string): Interval {
  if (name === "hour" || name === "day" || name === "month" || name === "all") return name;
  throw new AppError("VALIDATION_ERROR", "The interval must be hour, day, month or all.");
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
      throw new AppError("VALIDATION_ERROR", "groupBy must be model, provider, team, key, user, status or none.");
  }
}

/** A cursor of a sorted log has the order and the value too; one of another order is not valid. */
function writeCursor(position: LogPosition | RankedPosition, sort: LogSort): string {
  const { createdAt, id } = position;
  const parts = sort === "createdAt" || !("value" in position) ? [createdAt, id] : [createdAt, id, sort, position.value];
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

function readCursor(text: string, wanted: LogSort): RankedPosition {
  try {
    const parts = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as unknown[];
    const [createdAt, id, sort = "createdAt", value = createdAt] = parts;
    if (typeof createdAt === "number" && typeof id === "string" && typeof value === "number" && sort === wanted)
      return { createdAt, id, value };
  } catch {
    // Reported below, like any other invalid cursor.
  }
  throw new AppError("VALIDATION_ERROR", "The cursor is not valid. Use `nextCursor` from the previous page.", {
    details: [{ path: "query.cursor", message: "is not valid" }],
  });
}
