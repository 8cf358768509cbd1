import type { Clock } from "../../common/clock.ts";
import { AppError, type RateState } from "../../common/errors.ts";
import { teamBlocked } from "../../common/team-blocked.ts";
import { budgetName, spentOf } from "../domain/budgets.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Model, Team } from "../domain/records.ts";
import { teamState } from "../domain/team-state.ts";
import type { Reader } from "../stores/store.ts";
import { leasedOf } from "../writes/leases.ts";
import type { BudgetState } from "./budget-limiter.ts";
import { budgetNames, type CallOwners } from "./call-subjects.ts";
import type { AskedPermit, RatePermit } from "./rate-limiter.ts";

/** A call that asks for credit. */
export interface ReserveInput extends CallOwners {
  callId: string;
  worstCase: bigint;
  tokens: number;
  /** Absent: an edge of an older version. */
  edgeId?: string | undefined;
  /** The call is running already: the worst case is added to what it holds, and no rate limit counts it again. */
  isGrowth?: boolean | undefined;
  /** The permit that the edge asks for beside this call. */
  ahead?: AskedPermit | undefined;
}

/** What was granted to a call. */
export interface Reserved {
  readonly reserved: bigint;
  readonly rate: RateState;
  readonly permit?: RatePermit | undefined;
}

/** What the store says of the credit and the budgets that a call is paid from. */
export interface CallCredit {
  /** Without what is leased to edges. */
  readonly balance: bigint;
  readonly leased: bigint;
  readonly budgetsOf: (budgets: readonly Omit<BudgetState, "spend">[]) => BudgetState[];
}

export async function readCredit(reader: Reader, clock: Clock, input: ReserveInput, model: Model | undefined): Promise<CallCredit> {
  const { organizationId, keyId } = input;
  const [account, use, leased, uses] = await Promise.all([
    reader.get("accounts", organizationAccount(organizationId)),
    reader.get("keyUses", keyId),
    leasedOf(reader, organizationId, clock.now()),
    reader.getMany("budgetUses", budgetNames(input, model)),
  ]);
  const known = new Map(uses.flatMap((each) => (each ? [[each.id, each] as const] : [])));
  const budgetsOf = (budgets: readonly Omit<BudgetState, "spend">[]): BudgetState[] =>
    budgets.map((each) => {
      // A key's budget without a period applies to everything the key ever spent.
      const isTotal = each.kind === "key" && each.budget.budgetPeriod === undefined;
      const spent = spentOf(known.get(budgetName(each.kind, each.id)), clock.now());
      return { ...each, spend: isTotal ? (use?.spend ?? 0n) : spent };
    });
  return { balance: (account?.balance ?? 0n) - leased, leased, budgetsOf };
}

export function refuseBlocked(team: Team | undefined): void {
  if (!team) throw new AppError("INVALID_API_KEY", "The team of this API key was deleted. Use another key.");
  const state = teamState(team);
  if (state.status === "blocked") throw teamBlocked({ reason: state.reason });
}
