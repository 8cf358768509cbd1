import { AppError } from "../../common/errors.ts";
import type { ServiceHandlers } from "../../common/grpc/server.ts";
import { newId } from "../../common/ids.ts";
import {
  CreatePurchaseResponse,
  type LedgerEntry as EntryMessage,
  GrantCreditsResponse,
  type LedgerServiceService,
  type Purchase as PurchaseMessage,
  type Quota,
} from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { emptyAccount, organizationAccount, signedAmount } from "../domain/ledger.ts";
import type { LedgerEntry, Purchase } from "../domain/records.ts";
import { teamState } from "../domain/team-state.ts";
import { readPage } from "../stores/page.ts";
import { grant } from "../writes/accounts.ts";
import { leasedOf } from "../writes/leases.ts";
import { post } from "../writes/ledger.ts";
import { requireActor, requireAdmin, requireOrganizationManager } from "./actor.ts";
import type { ControlDeps } from "./deps.ts";
import { date, metaOf, optionalDate, pageOf } from "./messages.ts";
import { checkLedger } from "./verify-ledger.ts";
import { write } from "./write.ts";

const BURN_WINDOW_DAYS = 7;
const DAY_MS = 24 * 3_600_000;

type Handlers = ServiceHandlers<typeof LedgerServiceService>;

export function ledgerHandlers(deps: ControlDeps): Handlers {
  return {
    getBalance: getBalance(deps),
    getQuota: getQuota(deps),
    createPurchase: createPurchase(deps),
    listPurchases: listPurchases(deps),
    listEntries: listEntries(deps),
    grantCredits: grantCredits(deps),
    verifyLedger: verifyLedger(deps),
  };
}

const getBalance =
  (deps: ControlDeps): Handlers["getBalance"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    await deps.edges.caughtUp();
    const balance = (await deps.store.get("accounts", organizationAccount(actor.organizationId)))?.balance ?? 0n;
    return { balance, organizationId: actor.organizationId, status: balance < 0n ? "blocked" : "active" };
  };

const getQuota =
  (deps: ControlDeps): Handlers["getQuota"] =>
  async (_request, context) => {
    const actor = await requireActor(deps, context);
    await deps.edges.caughtUp();
    return { quota: await quotaOf(deps, actor.organizationId) };
  };

const createPurchase =
  (deps: ControlDeps): Handlers["createPurchase"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    requireOrganizationManager(actor);
    const method = checkMethod(deps, request.method, actor.user.role === "admin");
    await deps.edges.caughtUp();
    return write(deps, context, { actor, codec: CreatePurchaseResponse }, async ({ tx, now, audit }) => {
      const purchase: Purchase = {
        id: newId("pur", deps),
        organizationId: actor.organizationId,
        amount: request.amount,
        method,
        status: "completed",
        createdBy: actor.user.id,
        createdAt: now,
        completedAt: now,
      };
      await tx.insert("purchases", purchase);
      const { balance } = await post(
        tx,
        {
          type: "purchase",
          organizationId: actor.organizationId,
          from: "purchases",
          to: organizationAccount(actor.organizationId),
          amount: request.amount,
          reference: purchase.id,
        },
        now,
      );
      await audit({ action: "credits.purchase", target: purchase.id, details: { amount: request.amount, method } });
      return { purchase: purchaseMessage(purchase), balance };
    });
  };

const listPurchases =
  (deps: ControlDeps): Handlers["listPurchases"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const page = pageOf(request.page);
    const range = { index: "byOrganization", equals: [actor.organizationId], reverse: true } as const;
    const { records, total } = await readPage(deps.store, "purchases", { ...page, range });
    return { purchases: records.map(purchaseMessage), meta: metaOf(page, total) };
  };

const listEntries =
  (deps: ControlDeps): Handlers["listEntries"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    await deps.edges.caughtUp();
    const page = pageOf(request.page);
    const range = { index: "byOrganization", equals: [actor.organizationId], reverse: true } as const;
    const { records, total } = await readPage(deps.store, "ledger", {
      ...page,
      range,
      ...(request.type === undefined ? {} : { where: (entry: LedgerEntry) => entry.type === request.type }),
    });
    return { entries: records.map(entryMessage), meta: metaOf(page, total) };
  };

const grantCredits =
  (deps: ControlDeps): Handlers["grantCredits"] =>
  async (request, context) => {
    const actor = await requireAdmin(deps, context);
    await deps.edges.caughtUp();
    const answer = await write(deps, context, { actor, codec: GrantCreditsResponse }, async ({ tx, audit }) => {
      if (!(await tx.get("organizations", request.organizationId))) throw new AppError("NOT_FOUND", "There is no such organization.");
      if (request.amount === 0n)
        throw new AppError("VALIDATION_ERROR", "A credit must move something.", {
          details: [{ path: "body.amount", message: "must not be 0" }],
        });
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
    });
    // What edges hold in advance was part of what is gone.
    if (request.amount < 0n) await deps.edges.recall(request.organizationId);
    return answer;
  };

const verifyLedger =
  (deps: ControlDeps): Handlers["verifyLedger"] =>
  async (_request, context) => {
    await requireAdmin(deps, context);
    return checkLedger(deps.store, context.signal);
  };

function checkMethod(deps: ControlDeps, method: string, isAdmin: boolean): Purchase["method"] {
  const refuse = (message: string) => new AppError("VALIDATION_ERROR", message, { details: [{ path: "body.method", message }] });
  switch (method) {
    case "test":
      if (deps.config.production) throw refuse("Test purchases do not exist in production.");
      return "test";
    case "manual":
      if (!isAdmin) throw new AppError("FORBIDDEN", "Only a platform administrator may book a manual purchase.");
      return "manual";
    case "card":
      throw refuse("Card payments are not set up on this server.");
    default:
      throw refuse("A purchase is made by test, manual or card.");
  }
}

async function quotaOf(deps: ControlDeps, organizationId: string): Promise<Quota> {
  const now = deps.clock.now();
  const [account, organization] = await Promise.all([
    deps.store.get("accounts", organizationAccount(organizationId)),
    deps.store.get("organizations", organizationId),
  ]);
  const books = account ?? emptyAccount(organizationAccount(organizationId));
  let blockedTeams = 0;
  for await (const team of deps.store.scan("teams", { index: "byOrganization", equals: [organizationId] })) {
    if (teamState(team).status === "blocked") blockedTeams++;
  }
  const burnRatePerDay = await burnRate(deps, organizationId, now);
  // Set aside for calls one by one, and leased to edges that set aside by themselves.
  const reserved = deps.reservations.reservedOf(organizationId) + (await leasedOf(deps.store, organizationId, now));
  return {
    organizationId,
    balance: books.balance,
    reserved,
    available: books.balance - reserved,
    totalPurchased: books.purchased,
    totalGranted: books.granted,
    totalRewarded: books.rewarded,
    totalUsed: books.used,
    status: books.balance < 0n ? "blocked" : "active",
    blockedTeams,
    lowBalanceThreshold: organization?.lowBalanceThreshold,
    burnRatePerDay,
    // A forecast for people, the one place where an amount may be rounded.
    estimatedDaysLeft: burnRatePerDay > 0n && books.balance > 0n ? Number((books.balance * 100n) / burnRatePerDay) / 100 : undefined,
    updatedAt: date(books.updatedAt || (organization?.createdAt ?? now)),
    ledgerSeq: BigInt(books.seq),
  };
}

async function burnRate(deps: ControlDeps, organizationId: string, now: number): Promise<bigint> {
  let cost = 0n;
  const range = { index: "byOrganization", equals: [organizationId], from: now - BURN_WINDOW_DAYS * DAY_MS } as const;
  for await (const rollup of deps.store.scan("rollups", range)) cost += rollup.cost;
  return cost / BigInt(BURN_WINDOW_DAYS);
}

function purchaseMessage(purchase: Purchase): PurchaseMessage {
  return {
    id: purchase.id,
    organizationId: purchase.organizationId,
    amount: purchase.amount,
    method: purchase.method,
    status: purchase.status,
    checkoutUrl: undefined,
    reference: purchase.reference,
    createdBy: BigInt(purchase.createdBy),
    createdAt: date(purchase.createdAt),
    completedAt: optionalDate(purchase.completedAt),
  };
}

function entryMessage(entry: LedgerEntry): EntryMessage {
  return {
    seq: BigInt(entry.id),
    type: entry.type,
    amount: signedAmount(entry),
    balanceAfter: entry.balanceAfter,
    callId: entry.type === "usage" ? entry.reference : undefined,
    purchaseId: entry.type === "purchase" || entry.type === "refund" ? entry.reference : undefined,
    reference: entry.note,
    createdAt: date(entry.createdAt),
  };
}
