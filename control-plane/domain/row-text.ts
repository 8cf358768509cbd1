import type { UsageRow } from "./records.ts";

/** A row as an edge reported it. */
export type ReportedRow = Omit<UsageRow, "cost" | "contentHash" | "ledgerSeq" | "reportedCost">;

/** A row as `JSON.stringify` writes it. What it has in common with the row before is not written again: rows of a batch have most in common. */
export function rowText(row: ReportedRow): string {
  const { id, createdAt, completedAt, usage, priceVersion, cacheHit, attempts, latencyMs, overheadUs, tags } = row;
  // A time that is none is written as null.
  if (!Number.isFinite(createdAt) || !Number.isFinite(completedAt)) return JSON.stringify(row);
  const call = `"id":${JSON.stringify(id)},"createdAt":${createdAt},"completedAt":${completedAt}`;
  const billed = `"usage":${JSON.stringify(usage)},"priceVersion":${priceVersion},"cacheHit":${cacheHit},"attempts":${attempts}`;
  const first = optional("fallbackFrom", row.fallbackFrom);
  const times = `"latencyMs":${latencyMs}${optional("firstTokenMs", row.firstTokenMs)},"overheadUs":${overheadUs}`;
  const labels = `"tags":${tags.length === 0 ? "[]" : JSON.stringify(tags)}`;
  return `{${call},${identityText(row)},${billed}${first},${times},${labels}${lateText(row)}}`;
}

/** Fields that rows have had since later releases: the last ones. */
function lateText({ onceFor, providerModel, attemptsDetail, reserved, reason, refused }: ReportedRow): string {
  const work = optional("onceFor", onceFor) + optional("providerModel", providerModel) + optional("attemptsDetail", attemptsDetail);
  return work + optional("reserved", reserved) + optional("reason", reason) + optional("refused", refused);
}

function optional(name: string, value: unknown): string {
  return value === undefined ? "" : `,"${name}":${typeof value === "number" ? value : JSON.stringify(value)}`;
}

/** Who called which model, who answered, and how it ended, in the order of the row. */
// biome-ignore format: as many as fit
const IDENTITY = [
  "organizationId", "teamId", "teamName", "apiKeyId", "apiKeyName", "maskedKey", "userId", "endUser", "endpoint", "model", "deploymentId",
  "provider", "type", "stream", "status", "httpStatus", "errorCode",
] as const satisfies readonly (keyof ReportedRow)[];

type Identity = Pick<ReportedRow, (typeof IDENTITY)[number]>;

let last: { readonly identity: Identity; readonly text: string } | undefined;

function identityText(row: ReportedRow): string {
  if (!last || !isSameIdentity(last.identity, row)) {
    const identity = Object.fromEntries(IDENTITY.map((name) => [name, row[name]])) as unknown as Identity;
    last = { identity, text: JSON.stringify(identity).slice(1, -1) };
  }
  return last.text;
}

/** Those that differ most often first. Named one by one, because a loop over names costs more than the text. */
function isSameIdentity(left: Identity, right: Identity): boolean {
  return (
    left.apiKeyId === right.apiKeyId &&
    left.endUser === right.endUser &&
    left.model === right.model &&
    left.deploymentId === right.deploymentId &&
    left.status === right.status &&
    left.httpStatus === right.httpStatus &&
    left.errorCode === right.errorCode &&
    left.endpoint === right.endpoint &&
    left.stream === right.stream &&
    left.type === right.type &&
    left.provider === right.provider &&
    left.userId === right.userId &&
    isSameKey(left, right)
  );
}

function isSameKey(left: Identity, right: Identity): boolean {
  return (
    left.organizationId === right.organizationId &&
    left.teamId === right.teamId &&
    left.teamName === right.teamName &&
    left.apiKeyName === right.apiKeyName &&
    left.maskedKey === right.maskedKey
  );
}
