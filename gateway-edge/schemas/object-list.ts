import { z } from "zod";
import { AppError } from "../../common/errors.ts";

const LIMIT_MAX = 100;
const LIMIT_DEFAULT = 20;

const once = z.string("must be given once").optional();

/** The query of OpenAI's lists. Any text passes the schema: a value out of range is a 400, not a 422. */
export const listQuery = z.object({
  limit: once.meta({ openapi: { type: "integer", minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT } }),
  order: once.meta({ openapi: { type: "string", enum: ["asc", "desc"], default: "desc" } }),
  after: once,
  before: once,
});
export const messageListQuery = listQuery.extend({ run_id: once });

/** A page of one of OpenAI's lists. */
export interface Page {
  readonly order: "asc" | "desc";
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

type ListQuery = z.output<typeof listQuery>;

/** The page of a query; throws VALIDATION_ERROR (400). */
export function readPage({ limit, order = "desc", after, before }: ListQuery): Page {
  if (order !== "asc" && order !== "desc") throw badQuery("order", "must be asc or desc");
  const count = limit === undefined || limit === "" ? LIMIT_DEFAULT : Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > LIMIT_MAX) throw badQuery("limit", `must be a whole number from 1 to ${LIMIT_MAX}`);
  if (after && before) throw badQuery("before", "cannot be given together with after");
  // Some clients send an empty cursor instead of none.
  return { order, limit: count, after: after || undefined, before: before || undefined };
}

/** Where a cursor is in a list of such things. */
export function placeIn(list: readonly { id: string }[], id: string, { param, what }: { param: "after" | "before"; what: string }): number {
  const place = list.findIndex((one) => one.id === id);
  if (place < 0) throw new AppError("INVALID_REQUEST", `${param}: there is no ${what} '${id.slice(0, 200)}' in this list`, { param });
  return place;
}

function badQuery(param: string, message: string): AppError {
  return new AppError("VALIDATION_ERROR", `${param}: ${message}`, { param, details: [{ path: `query.${param}`, message }] });
}

/** A page in OpenAI's list format. */
export function listAnswer<Item extends { readonly id: string }>(data: readonly Item[], hasMore: boolean) {
  return { object: "list" as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore };
}
