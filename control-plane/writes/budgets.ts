import type { Budget, BudgetKind, BudgetUse } from "../domain/budget-records.ts";
import { addSpend, budgetName, periodStart } from "../domain/budgets.ts";
import type { Rollup, UsageRow } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";

/** The subject of a budget, and the organizations whose roll-ups contain its calls. */
export interface BudgetSubject {
  kind: BudgetKind;
  id: string | number;
  organizationIds: readonly string[];
}

/**
 * Updates the use of a budget in the transaction that changes the budget. A new period starts with what was already spent in it. A
 * budget without a period counts from now on, and so does a model's budget, because roll-ups do not identify the model that answered.
 * A key's budget without a period needs no use record: it applies to everything the key ever spent.
 */
export async function followBudget(
  tx: Transaction,
  subject: BudgetSubject,
  { before, after }: { before: Budget; after: Budget },
  now: number,
): Promise<void> {
  const name = budgetName(subject.kind, subject.id);
  const known = await tx.get("budgetUses", name);
  if (after.maxBudget === undefined || (subject.kind === "key" && after.budgetPeriod === undefined)) {
    if (known) await tx.remove("budgetUses", name);
    return;
  }
  if (known && before.budgetPeriod === after.budgetPeriod) return;
  const period = after.budgetPeriod;
  const startsAt = periodStart(period, now);
  const spend = period === undefined || subject.kind === "model" ? 0n : await spentSince(tx, subject, startsAt);
  await tx.put("budgetUses", { id: name, startsAt, spend, ...organizationOf(subject), ...(period === undefined ? {} : { period }) });
}

/** The organization of a key or team. The name of an organization's budget has it, and users and models have calls of several. */
function organizationOf({ kind, organizationIds: [organizationId] }: BudgetSubject): Pick<BudgetUse, "organizationId"> {
  return organizationId !== undefined && (kind === "key" || kind === "team") ? { organizationId } : {};
}

/** Adds the cost of calls to every budget that applies to them; one read finds the existing budgets. */
export async function addToBudgets(tx: Transaction, rows: readonly UsageRow[]): Promise<void> {
  const paid = rows.filter(({ cost }) => cost > 0n);
  const names = [...new Set(oneOfEach(paid).flatMap(namesOf))];
  if (names.length === 0) return;
  const uses = new Map<string, BudgetUse>();
  for (const use of await tx.getMany("budgetUses", names)) if (use) uses.set(use.id, use);
  if (uses.size === 0) return;
  const changed = new Set<string>();
  for (const row of paid) {
    for (const name of namesOf(row)) {
      const use = uses.get(name);
      if (!use) continue;
      uses.set(name, addSpend(use, row.cost, row.createdAt));
      changed.add(name);
    }
  }
  for (const name of changed) {
    const use = uses.get(name);
    if (use) await tx.put("budgetUses", use);
  }
}

/** One row per combination of key, team, organization, user and model; most rows of a batch share one. */
function oneOfEach(rows: readonly UsageRow[]): UsageRow[] {
  const byKey = new Map<string, UsageRow>();
  let last: UsageRow | undefined;
  for (const row of rows) {
    if (last && isUnderSame(last, row)) continue;
    byKey.set(`${row.apiKeyId} ${row.teamId} ${row.organizationId} ${row.userId} ${row.deploymentId}`, row);
    last = row;
  }
  return [...byKey.values()];
}

function isUnderSame(left: UsageRow, right: UsageRow): boolean {
  return (
    left.apiKeyId === right.apiKeyId &&
    left.deploymentId === right.deploymentId &&
    left.userId === right.userId &&
    left.teamId === right.teamId &&
    left.organizationId === right.organizationId
  );
}

function namesOf({ apiKeyId, teamId, organizationId, userId, deploymentId }: UsageRow): string[] {
  return [
    // The model that answered, independent of the requested name.
    budgetName("model", deploymentId),
    budgetName("key", apiKeyId),
    budgetName("team", teamId),
    budgetName("organization", organizationId),
    ...(userId === undefined ? [] : [budgetName("user", userId)]),
  ];
}

async function spentSince(tx: Transaction, subject: BudgetSubject, from: number): Promise<bigint> {
  const isOf = SAME[subject.kind](subject.id);
  let spend = 0n;
  for (const organizationId of subject.organizationIds) {
    for await (const rollup of tx.scan("rollups", { index: "byOrganization", equals: [organizationId], from })) {
      if (isOf(rollup)) spend += rollup.cost;
    }
  }
  return spend;
}

const SAME: Readonly<Record<BudgetKind, (id: string | number) => (rollup: Rollup) => boolean>> = {
  key: (id) => (rollup) => rollup.apiKeyId === id,
  team: (id) => (rollup) => rollup.teamId === id,
  user: (id) => (rollup) => rollup.userId === id,
  organization: () => () => true,
  model: () => () => false,
};
