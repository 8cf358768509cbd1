import type { Budget, BudgetKind } from "../domain/budget-records.ts";
import { budgetName } from "../domain/budgets.ts";
import { rateLimitsOf } from "../domain/rate-limits.ts";
import type { Model, RateLimits, Team } from "../domain/records.ts";
import type { Reader } from "../stores/store.ts";
import type { BudgetState } from "./budget-limiter.ts";
import type { CallToCount } from "./counted-calls.ts";
import type { RateSubject } from "./rate-limiter.ts";

/** Whose limits and budgets a call meets. */
export interface CallOwners {
  readonly keyId: string;
  readonly teamId: string;
  readonly organizationId: string;
  /** The creator of the key; undefined for keys without one. */
  readonly userId?: number | undefined;
  /** The requested model group. */
  readonly model: string;
}

/** The limits and budgets of a call, as the store has them now. */
export interface CallSubjects {
  readonly team: Team | undefined;
  readonly subjects: readonly RateSubject[];
  readonly budgets: readonly Omit<BudgetState, "spend">[];
}

/** Reads the limits and budgets of everything that a call belongs to. */
export async function readSubjects(
  reader: Reader,
  { keyId, teamId, organizationId, userId, model: modelName }: CallOwners,
  model: Model | undefined,
): Promise<CallSubjects> {
  const [key, team, organization, user] = await Promise.all([
    reader.get("keys", keyId),
    reader.get("teams", teamId),
    reader.get("organizations", organizationId),
    userId === undefined ? undefined : reader.get("users", userId),
  ]);
  const subjects: RateSubject[] = [
    subject("key", keyId, key),
    subject("team", teamId, team),
    subject("organization", organizationId, organization),
    ...(userId === undefined ? [] : [subject("user", String(userId), user)]),
    subject("model", modelName, model),
  ];
  const budgets = [
    budget("key", keyId, key),
    budget("team", teamId, team),
    budget("organization", organizationId, organization),
    ...(userId === undefined ? [] : [budget("user", String(userId), user)]),
    ...(model ? [budget("model", model.id, model)] : []),
  ];
  return { team, subjects, budgets };
}

/** The names of the budgets of a call. */
export function budgetNames({ keyId, teamId, organizationId, userId }: CallOwners, model: Model | undefined): string[] {
  return [
    budgetName("key", keyId),
    budgetName("team", teamId),
    budgetName("organization", organizationId),
    ...(userId === undefined ? [] : [budgetName("user", userId)]),
    ...(model ? [budgetName("model", model.id)] : []),
  ];
}

export function isBudgeted(budgets: readonly Pick<BudgetState, "budget">[]): boolean {
  return budgets.some(({ budget: { maxBudget } }) => maxBudget !== undefined);
}

/**
 * A call as other control planes count it. Under a budget no permit is granted, so none is asked for. Parallel calls of a permit are not
 * asked for: each end of a call would be a message between control planes.
 */
export function countedCall(
  { callId, tokens, ahead }: Omit<CallToCount, "subjects">,
  { budgets }: CallSubjects,
): Omit<CallToCount, "subjects"> {
  return { callId, tokens, ahead: !ahead || isBudgeted(budgets) ? undefined : { requests: ahead.requests, tokens: ahead.tokens } };
}

function subject(kind: RateSubject["kind"], id: string, record: RateLimits | undefined): RateSubject {
  return { kind, id, limits: rateLimitsOf(record ?? {}) };
}

function budget(kind: BudgetKind, id: string, record: Budget | undefined): Omit<BudgetState, "spend"> {
  return { kind, id, budget: record ?? {} };
}
