import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { LogFilter } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Rollup, UsageRow } from "../../domain/records.ts";
import { ROLLUP_MS, rollupOf } from "../../domain/settlement.ts";
import { collect } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import type { Actor } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { findKey } from "../keys/find-key.ts";
import { mayManageKey, requireTeam, visibleTeamIds } from "../teams/access.ts";
import type { ScanBudget } from "./log-scans.ts";
import { LogWalk, needsRows, type UsageQuery } from "./log-walk.ts";

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
    matchesLabels: labelTest(filter),
    matches: (row) =>
      (visible === "all" || visible.has(row.teamId)) &&
      (teamId === undefined || row.teamId === teamId) &&
      (keyId === undefined || row.apiKeyId === keyId) &&
      (model === undefined || row.model === model) &&
      (provider === undefined || row.provider === provider) &&
      (status === undefined || row.status === status),
  };
}

function labelTest(filter: LogFilter | undefined): UsageQuery["matchesLabels"] {
  const { endUser, tags: wanted = [] } = filter ?? {};
  if (endUser === undefined && wanted.length === 0) return undefined;
  return (user, tags) => (endUser === undefined || user === endUser) && wanted.every((tag) => tags.includes(tag));
}

/** A call that the actor may see. A call of another tenant and a missing one give the same NOT_FOUND. */
export async function requireRow(deps: Pick<ControlDeps, "store" | "edges">, actor: Actor, id: string): Promise<UsageRow> {
  await deps.edges.caughtUp(actor.organizationId);
  const row = await deps.store.get("usage", id);
  const visible = await visibleTeamIds(deps.store, actor);
  if (row && row.organizationId === actor.organizationId && (visible === "all" || visible.has(row.teamId))) return row;
  throw new AppError("NOT_FOUND", await missingText(deps.store, actor.organizationId));
}

/** The same text for every missing call, so that it does not tell which calls of other teams exist. */
async function missingText(store: Reader, organizationId: string): Promise<string> {
  const archive = await store.get("usageArchives", organizationId);
  if (!archive) return "The log has no such call.";
  const day = new Date(archive.before).toISOString().slice(0, "2026-08-01".length);
  return `The log has no such call. Calls from before ${day} are archived: ask the operator for the archive.`;
}

/**
 * Sums that together cover exactly the requested window: roll-ups for whole buckets, single rows at its two ends. A query that
 * roll-ups cannot answer reads every row. The sums end early when the budget is spent.
 */
export async function* matchingSums(reader: Reader, query: UsageQuery, budget: ScanBudget): AsyncIterable<Rollup> {
  const rowSums = async function* (window: { start: number | undefined; end: number | undefined }): AsyncIterable<Rollup> {
    for await (const row of new LogWalk(reader, query, { budget }).rowsWithin(window)) yield rollupOf(row);
  };
  if (needsRows(query)) {
    yield* rowSums(query);
    return;
  }
  const from = query.start === undefined ? undefined : Math.ceil(query.start / ROLLUP_MS) * ROLLUP_MS;
  const before = query.end === undefined ? undefined : Math.floor(query.end / ROLLUP_MS) * ROLLUP_MS;
  const isWithinOneBucket = from !== undefined && before !== undefined && from >= before;
  if (isWithinOneBucket) {
    yield* rowSums(query);
    return;
  }
  if (from !== undefined && from !== query.start) yield* rowSums({ start: query.start, end: from });
  yield* wholeBuckets(reader, query, { budget, ...defined({ from, before }) });
  if (before !== undefined && before !== query.end) yield* rowSums({ start: before, end: query.end });
}

async function* wholeBuckets(
  reader: Reader,
  query: UsageQuery,
  { budget, ...window }: { budget: ScanBudget; from?: number; before?: number },
): AsyncIterable<Rollup> {
  const range = { index: "byOrganization", equals: [query.organizationId], ...window } as const;
  for await (const rollup of reader.scan("rollups", range)) {
    const slot = budget.count();
    if (slot) await slot;
    if (budget.isSpent) return;
    if (query.matches(rollup)) yield rollup;
  }
}

async function visibleKeyId(deps: ControlDeps, actor: Actor, reference: string): Promise<string> {
  const key = await findKey(deps, deps.store, reference);
  if (key && (await mayManageKey(deps.store, actor, key)) !== "hidden") return key.id;
  if (!key && reference.startsWith("key_") && (await hasVisibleCalls(deps, actor, reference))) return reference;
  throw new AppError("NOT_FOUND", "There is no such API key.");
}

// A removed key can still be used as a filter, because its calls stay in the log. A key of another tenant must look missing. A key that was
// moved to another team has its first calls in the one and its last calls in the other.
async function hasVisibleCalls({ store }: ControlDeps, actor: Actor, keyId: string): Promise<boolean> {
  const visible = await visibleTeamIds(store, actor);
  const ends = [false, true].map((reverse) => collect(store.scan("usage", { index: "byKey", equals: [keyId], reverse, limit: 1 })));
  return (await Promise.all(ends))
    .flat()
    .some((row) => row.organizationId === actor.organizationId && (visible === "all" || visible.has(row.teamId)));
}
