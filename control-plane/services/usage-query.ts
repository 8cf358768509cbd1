import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import type { LogFilter } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { Rollup, UsageRow } from "../domain/records.ts";
import { ROLLUP_MS, rollupOf } from "../domain/settlement.ts";
import type { Range, Reader } from "../stores/store.ts";
import type { Actor } from "./actor.ts";
import type { ControlDeps } from "./deps.ts";
import { findKey } from "./keys.ts";
import { mayManageKey, requireTeam, visibleTeamIds } from "./standing.ts";

/** A log filter made ready: what the actor may see, resolved names, bounds in milliseconds. */
export interface UsageQuery {
  organizationId: string;
  start: number | undefined;
  end: number | undefined;
  keyId: string | undefined;
  teamId: string | undefined;
  search: string | undefined;
  /** For what rows and roll-ups have in common. */
  matches(dimensions: Pick<Rollup, "teamId" | "apiKeyId" | "model" | "provider" | "status">): boolean;
}

export async function prepareQuery(deps: ControlDeps, actor: Actor, filter: LogFilter | undefined): Promise<UsageQuery> {
  const teamId = filter?.teamId;
  if (teamId !== undefined) await requireTeam(deps.store, actor, teamId);
  const keyId = filter?.apiKey === undefined ? undefined : await visibleKeyId(deps, actor, filter.apiKey);
  const visible = await visibleTeamIds(deps.store, actor);
  const { model, provider, status } = filter ?? {};
  return {
    organizationId: actor.organizationId,
    start: filter?.start?.getTime(),
    end: filter?.end?.getTime(),
    keyId,
    teamId,
    search: filter?.search?.toLowerCase() || undefined,
    matches: (row) =>
      (visible === "all" || visible.has(row.teamId)) &&
      (teamId === undefined || row.teamId === teamId) &&
      (keyId === undefined || row.apiKeyId === keyId) &&
      (model === undefined || row.model === model) &&
      (provider === undefined || row.provider === provider) &&
      (status === undefined || row.status === status),
  };
}

/** One call that the actor may see; another tenant's and a missing one are the same 404. */
export async function requireRow(deps: Pick<ControlDeps, "store" | "edges">, actor: Actor, id: string): Promise<UsageRow> {
  await deps.edges.caughtUp();
  const row = await deps.store.get("usage", id);
  const visible = await visibleTeamIds(deps.store, actor);
  if (row && row.organizationId === actor.organizationId && (visible === "all" || visible.has(row.teamId))) return row;
  throw new AppError("NOT_FOUND", "There is no such call in the log.");
}

/** Rows, newest first, that match; `after` continues behind a row seen before. */
export async function* matchingRows(reader: Reader, query: UsageQuery, after?: { createdAt: number; id: string }): AsyncIterable<UsageRow> {
  const range: Range<"usage"> = { ...rowRange(query), reverse: true };
  const owner = range.equals?.[0];
  if (after && owner !== undefined) range.after = [owner, after.createdAt, after.id];
  for await (const row of reader.scan("usage", range)) {
    // The organisation is checked on every row: a team or key index alone must never be what keeps tenants apart.
    if (row.organizationId === query.organizationId && query.matches(row) && found(row, query.search)) yield row;
  }
}

/**
 * Sums that together cover exactly the asked window: whole roll-ups where a bucket lies inside it, single rows at its two ends.
 * A text search looks at every row: no roll-up knows the text.
 */
export async function* matchingSums(reader: Reader, query: UsageQuery): AsyncIterable<Rollup> {
  if (query.search !== undefined) {
    for await (const row of matchingRows(reader, query)) yield rollupOf(row);
    return;
  }
  const from = query.start === undefined ? undefined : Math.ceil(query.start / ROLLUP_MS) * ROLLUP_MS;
  const before = query.end === undefined ? undefined : Math.floor(query.end / ROLLUP_MS) * ROLLUP_MS;
  const isWithinOneBucket = from !== undefined && before !== undefined && from >= before;
  if (isWithinOneBucket) {
    yield* rowSums(reader, query, { start: query.start, end: query.end });
    return;
  }
  if (from !== undefined && from !== query.start) yield* rowSums(reader, query, { start: query.start, end: from });
  yield* wholeBuckets(reader, query, defined({ from, before }));
  if (before !== undefined && before !== query.end) yield* rowSums(reader, query, { start: before, end: query.end });
}

async function* wholeBuckets(reader: Reader, query: UsageQuery, window: { from?: number; before?: number }): AsyncIterable<Rollup> {
  const range = { index: "byOrganization", equals: [query.organizationId], ...window } as const;
  for await (const rollup of reader.scan("rollups", range)) if (query.matches(rollup)) yield rollup;
}

async function* rowSums(
  reader: Reader,
  query: UsageQuery,
  window: { start: number | undefined; end: number | undefined },
): AsyncIterable<Rollup> {
  for await (const row of matchingRows(reader, { ...query, ...window })) yield rollupOf(row);
}

function rowRange(query: UsageQuery): Range<"usage"> {
  const range: Range<"usage"> =
    query.keyId !== undefined
      ? { index: "byKey", equals: [query.keyId] }
      : query.teamId !== undefined
        ? { index: "byTeam", equals: [query.teamId] }
        : { index: "byOrganization", equals: [query.organizationId] };
  if (query.start !== undefined) range.from = query.start;
  if (query.end !== undefined) range.before = query.end;
  return range;
}

function found(row: UsageRow, search: string | undefined): boolean {
  if (search === undefined) return true;
  const texts = [row.id, row.model, row.provider, row.apiKeyName, row.teamName, row.endpoint, row.endUser ?? "", row.errorCode ?? ""];
  return texts.some((text) => text.toLowerCase().includes(search));
}

async function visibleKeyId(deps: ControlDeps, actor: Actor, reference: string): Promise<string> {
  const key = await findKey(deps, deps.store, reference);
  if (key && (await mayManageKey(deps.store, actor, key)) !== "hidden") return key.id;
  if (!key && reference.startsWith("key_") && (await hasVisibleCalls(deps, actor, reference))) return reference;
  throw new AppError("NOT_FOUND", "There is no such API key.");
}

// A removed key is known by its calls still: they stay in the log. Another tenant's must look like one that never was.
async function hasVisibleCalls(deps: ControlDeps, actor: Actor, keyId: string): Promise<boolean> {
  const visible = await visibleTeamIds(deps.store, actor);
  for await (const row of deps.store.scan("usage", { index: "byKey", equals: [keyId], limit: 1 })) {
    return row.organizationId === actor.organizationId && (visible === "all" || visible.has(row.teamId));
  }
  return false;
}
