import type { Budget, BudgetKind, BudgetUse } from "../domain/budget-records.ts";
import { addSpend, budgetName, periodStart } from "../domain/budgets.ts";
import type { Rollup, UsageRow } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";

/** Whose budget it is, and how its calls are told from others in the roll-ups of its organisations. */
export interface BudgetSubject {
  kind: BudgetKind;
  id: string | number;
  organizationIds: readonly string[];
}

/**
 * Keeps the count of a budget in step with the budget, in the transaction that changes it. A new period starts with what was spent in it
 * already; a budget without one counts from now on, and so does a model's, whose calls no roll-up tells from others. A key's without a period needs no count: it is held against all the key ever spent.
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
  await tx.put("budgetUses", { id: name, startsAt, spend, ...(period === undefined ? {} : { period }) });
}

/** Counts what calls cost against every budget they are under: one read finds the budgets there are. */
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

/** One row for each that share key, team, organisation, user and model: most of a batch is under the same budgets. */
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
    // Which model answered, under whatever name it was asked for.
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
