import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { GrantCreditsResponse, type LedgerServiceService, type Quota } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import { emptyAccount, organizationAccount } from "../../domain/ledger.ts";
import type { LedgerEntry } from "../../domain/records.ts";
import { teamState } from "../../domain/team-state.ts";
import { requireOwner } from "../../slots/require-owner.ts";
import { readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import { grant } from "../../writes/accounts.ts";
import { anchorHeads } from "../../writes/anchors.ts";
import { leasedOf } from "../../writes/leases.ts";
import { requireActor, requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { date, metaOf, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { EntryCounts } from "./entry-counts.ts";
import { entryMessage } from "./messages.ts";
import { purchaseHandlers } from "./purchases.ts";
import { checkLedger } from "./verify.ts";

const BURN_WINDOW_DAYS = 7;
const DAY_MS = 24 * 3_600_000;

type Handlers = ServiceHandlers<typeof LedgerServiceService>;

export function ledgerHandlers(deps: ControlDeps): Handlers {
  return {
    getBalance: getBalance(deps),
    getQuota: getQuota(deps),
    listEntries: listEntries(deps),
    grantCredits: grantCredits(deps),
    verifyLedger: verifyLedger(deps),
    ...purchaseHandlers(deps),
  };
}

const getBalance =
  (deps: ControlDeps): Handlers["getBalance"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    requireOwner(deps, actor.organizationId);
    await deps.edges.caughtUp(actor.organizationId);
    const balance = (await deps.store.get("accounts", organizationAccount(actor.organizationId)))?.balance ?? 0n;
    return { balance, organizationId: actor.organizationId, status: balance < 0n ? "blocked" : "active" };
  };

const getQuota =
  (deps: ControlDeps): Handlers["getQuota"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    requireOwner(deps, actor.organizationId);
    // Edges return their unused advance first, so that `reserved` is what running calls may cost.
    await deps.edges.recall(actor.organizationId);
    return { quota: await quotaOf(deps, actor.organizationId) };
  };

function listEntries(deps: ControlDeps): Handlers["listEntries"] {
  const counts = new EntryCounts(deps.store);
  return async ({ page: asked, type }, context) => {
    const { organizationId } = await requireActor(deps, context);
    requireOwner(deps, organizationId);
    await deps.edges.caughtUp(organizationId);
    const page = pageOf(asked);
    const range = { index: "byOrganization", equals: [organizationId], reverse: true } as const;
    const select = type === undefined ? { count: () => counts.of(organizationId) } : { where: (entry: LedgerEntry) => entry.type === type };
    const { records, total } = await readPage(deps.store, "ledger", { ...page, range, ...select });
    return { entries: records.map(entryMessage), meta: metaOf(page, total) };
  };
}

const grantCredits =
  (deps: ControlDeps): Handlers["grantCredits"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    requireOwner(deps, request.organizationId);
    await deps.edges.caughtUp(request.organizationId);
    const answer = await write(
      deps,
      context,
      { actor, codec: GrantCreditsResponse, scopes: organizationScope(deps.store, request.organizationId) },
      async ({ tx, audit }) => {
        if (!(await tx.get("organizations", request.organizationId))) throw new AppError("NOT_FOUND", "There is no such organization.");
        if (request.amount === 0n)
          throw new AppError(
            "VALIDATION_ERROR",
            "The amount must not be 0. Use a positive amount to grant credits, a negative one to take them back.",
            {
              details: [{ path: "body.amount", message: "must not be 0" }],
            },
          );
        const { entry, balance } = await grant(tx, deps, {
          organizationId: request.organizationId,
          amount: request.amount,
          ...(request.reference === undefined ? {} : { note: request.reference }),
        });
        await audit({
          action: "credits.grant",
          target: request.organizationId,
          organizationId: request.organizationId,
          details: { amount: request.amount, reference: request.reference },
        });
        return { entry: entryMessage(entry), balance };
      },
    );
    // The balance fell, so edges return leased credit that no call has reserved.
    if (request.amount < 0n) await deps.edges.recall(request.organizationId);
    return answer;
  };

const verifyLedger =
  (deps: ControlDeps): Handlers["verifyLedger"] =>
  async ({ fast }, context) => {
    await requireAdmin(deps, context);
    await deps.edges.caughtUp();
    // The answer's hash is that of the newest anchor, and must cover every entry so far.
    await anchorHeads(deps.store, () => deps.clock.now());
    const answer = await checkLedger(deps.store, context.signal, { isFast: fast });
    deps.verifications.count(answer);
    return answer;
  };

async function quotaOf(deps: ControlDeps, organizationId: string): Promise<Quota> {
  const now = deps.clock.now();
  const [account, organization] = await Promise.all([
    deps.store.get("accounts", organizationAccount(organizationId)),
    deps.store.get("organizations", organizationId),
  ]);
  const ledgerAccount = account ?? emptyAccount(organizationAccount(organizationId));
  let blockedTeams = 0;
  for await (const team of deps.store.scan("teams", { index: "byOrganization", equals: [organizationId] })) {
    if (teamState(team).status === "blocked") blockedTeams++;
  }
  const burnRatePerDay = await burnRate(deps, organizationId, now);
  // Reserved by calls one by one, and leased to edges.
  const reserved = deps.reservations.reservedOf(organizationId) + (await leasedOf(deps.store, organizationId, now));
  return {
    organizationId,
    balance: ledgerAccount.balance,
    reserved,
    available: ledgerAccount.balance - reserved,
    totalPurchased: ledgerAccount.purchased,
    totalGranted: ledgerAccount.granted,
    totalRewarded: ledgerAccount.rewarded,
    totalUsed: ledgerAccount.used,
    status: ledgerAccount.balance < 0n ? "blocked" : "active",
    blockedTeams,
    lowBalanceThreshold: organization?.lowBalanceThreshold,
    burnRatePerDay,
    // A forecast for people, the only place where an amount is rounded.
    estimatedDaysLeft:
      burnRatePerDay > 0n && ledgerAccount.balance > 0n ? Number((ledgerAccount.balance * 100n) / burnRatePerDay) / 100 : undefined,
    updatedAt: date(ledgerAccount.updatedAt || (organization?.createdAt ?? now)),
    ledgerSeq: BigInt(ledgerAccount.seq),
    paymentMethods: [...(deps.config.testCredits ? ["test"] : []), ...(deps.payments ? ["card"] : [])],
  };
}

async function burnRate(deps: ControlDeps, organizationId: string, now: number): Promise<bigint> {
  let cost = 0n;
  const range = { index: "byOrganization", equals: [organizationId], from: now - BURN_WINDOW_DAYS * DAY_MS } as const;
  for await (const rollup of deps.store.scan("rollups", range)) cost += rollup.cost;
  return cost / BigInt(BURN_WINDOW_DAYS);
}
