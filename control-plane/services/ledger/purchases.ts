import { AppError } from "../../../common/errors.ts";
import type { CallContext, ServiceHandlers } from "../../../common/grpc/server.ts";
import { newId } from "../../../common/ids.ts";
import { CreatePurchaseResponse, type LedgerServiceService } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import { organizationAccount } from "../../domain/ledger.ts";
import { CARD_NANO_MAX, CARD_NANO_MIN, NANO_PER_CENT, type PaymentEvent, returnedOf } from "../../domain/payments.ts";
import type { Purchase } from "../../domain/records.ts";
import type { Payments } from "../../payments/payments.ts";
import { requireOwner } from "../../slots/require-owner.ts";
import { collect, readPage } from "../../stores/page.ts";
import { organizationScope } from "../../stores/scopes.ts";
import { post } from "../../writes/ledger.ts";
import { notifyPurchase, takePaymentEvent } from "../../writes/payments.ts";
import { type Actor, requireActor, requireOrganizationManager } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, pageOf } from "../messages.ts";
import { replayOf, write } from "../write.ts";
import { entryMessage, purchaseMessage } from "./messages.ts";

type Handlers = Pick<
  ServiceHandlers<typeof LedgerServiceService>,
  "createPurchase" | "listPurchases" | "getReceipt" | "receivePaymentEvent"
>;

/** Handlers for purchases of credits. */
export function purchaseHandlers(deps: ControlDeps): Handlers {
  return {
    createPurchase: createPurchase(deps),
    listPurchases: listPurchases(deps),
    getReceipt: getReceipt(deps),
    receivePaymentEvent: receivePaymentEvent(deps),
  };
}

const createPurchase =
  (deps: ControlDeps): Handlers["createPurchase"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    requireOrganizationManager(actor);
    // Before the provider creates a page for it.
    requireOwner(deps, actor.organizationId);
    const wanted = request.method === "" ? defaultMethod(deps) : request.method;
    if (wanted === "card") return orderByCard(deps, context, { actor, amount: request.amount });
    const method = checkMethod(deps, wanted, actor.user.role === "admin");
    return write(
      deps,
      context,
      { actor, codec: CreatePurchaseResponse, scopes: organizationScope(deps.store, actor.organizationId) },
      async ({ tx, now, audit }) => {
        const purchase: Purchase = {
          ...draft(deps, { actor, amount: request.amount, now }),
          method,
          status: "completed",
          completedAt: now,
        };
        const { id: reference, organizationId, amount } = purchase;
        await tx.insert("purchases", purchase);
        const transfer = { organizationId, from: "purchases", to: organizationAccount(organizationId), amount, reference };
        const { balance } = await post(tx, { type: "purchase", ...transfer }, now);
        await notifyPurchase(tx, purchase, now);
        await audit({ action: "credits.purchase", target: reference, details: { amount, method } });
        return { purchase: purchaseMessage(purchase), balance };
      },
    );
  };

/** Starts a purchase that is paid on the provider's page. Credits are posted when the provider reports the payment. */
async function orderByCard(deps: ControlDeps, context: CallContext, { actor, amount }: { actor: Actor; amount: bigint }) {
  const payments = requirePayments(deps);
  checkCardAmount(amount);
  const replayed = await replayOf(deps, context, { actor, codec: CreatePurchaseResponse });
  if (replayed) return replayed;
  const organization = await deps.store.get("organizations", actor.organizationId);
  const order = draft(deps, { actor, amount, now: deps.clock.now() });
  // The page is created before the purchase is stored: an unused page is never paid, while a purchase without a page never could be.
  const email = actor.user.email;
  const checkout = await payments.createCheckout({ purchaseId: order.id, organizationName: organization?.name ?? "", email, amount });
  return write(
    deps,
    context,
    { actor, codec: CreatePurchaseResponse, scopes: organizationScope(deps.store, actor.organizationId) },
    async ({ tx, audit }) => {
      const purchase: Purchase = { ...order, method: "card", status: "pending", reference: checkout.id, checkoutUrl: checkout.url };
      await tx.insert("purchases", purchase);
      await audit({ action: "credits.order", target: purchase.id, details: { amount, method: "card" } });
      const balance = (await tx.get("accounts", organizationAccount(actor.organizationId)))?.balance ?? 0n;
      return { purchase: purchaseMessage(purchase), balance };
    },
  );
}

const listPurchases =
  (deps: ControlDeps): Handlers["listPurchases"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const page = pageOf(request.page);
    const range = { index: "byOrganization", equals: [actor.organizationId], reverse: true } as const;
    const { records, total } = await readPage(deps.store, "purchases", { ...page, range });
    return { purchases: records.map(purchaseMessage), meta: metaOf(page, total) };
  };

const getReceipt =
  (deps: ControlDeps): Handlers["getReceipt"] =>
  async (request, context) => {
    const actor = await requireActor(deps, context);
    const purchase = await deps.store.get("purchases", request.purchaseId);
    if (purchase?.organizationId !== actor.organizationId) throw new AppError("NOT_FOUND", "There is no such purchase.");
    if (purchase.completedAt === undefined) throw new AppError("VALIDATION_ERROR", "The purchase is not paid, so it has no receipt.");
    const [organization, payment, entries] = await Promise.all([
      deps.store.get("organizations", purchase.organizationId),
      purchase.paymentId === undefined ? undefined : deps.store.get("payments", purchase.paymentId),
      // "0" sorts right after "/": the range covers the purchase's own entry and all entries with a sub-reference.
      collect(deps.store.scan("ledger", { index: "byReference", from: purchase.id, before: `${purchase.id}0` })),
    ]);
    return {
      receipt: {
        purchase: purchaseMessage(purchase),
        organizationName: organization?.name ?? "",
        returned: payment ? returnedOf(payment) : 0n,
        entries: entries.sort((left, right) => left.id - right.id).map(entryMessage),
      },
    };
  };

const receivePaymentEvent =
  (deps: ControlDeps): Handlers["receivePaymentEvent"] =>
  async (request) => {
    const event = requirePayments(deps).readEvent(request.payload, request.signature);
    const outcome = await takePaymentEvent(deps.store, event, deps.clock.now());
    const facts = { eventId: event.id, type: event.type, outcome };
    if (outcome === "refused") deps.logger.error(facts, "a payment does not match its purchase; no credits were posted");
    else deps.logger.info(facts, "a payment event was received");
    if (outcome === "applied") await recallCredit(deps, event);
    return { outcome };
  };

/** After a refund or dispute edges must return leased credit, because the balance fell. */
async function recallCredit(deps: ControlDeps, { fact }: PaymentEvent): Promise<void> {
  if (fact?.kind !== "refunded" && fact?.kind !== "disputed") return;
  const payment = await deps.store.get("payments", fact.paymentId);
  const purchase = payment?.purchaseId === undefined ? undefined : await deps.store.get("purchases", payment.purchaseId);
  if (purchase) await deps.edges.recall(purchase.organizationId);
}

function draft(deps: ControlDeps, { actor, amount, now }: { actor: Actor; amount: bigint; now: number }) {
  return { id: newId("pur", deps), organizationId: actor.organizationId, amount, createdBy: actor.user.id, createdAt: now };
}

/** The method of a purchase that names none. */
function defaultMethod({ config, payments }: ControlDeps): "test" | "card" {
  if (config.testCredits) return "test";
  if (payments) return "card";
  const message =
    "No payment method is configured. The operator can set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET for cards, or TEST_CREDITS=true.";
  throw refuse("method", message);
}

function checkMethod(deps: ControlDeps, method: string, isAdmin: boolean): "test" | "manual" {
  switch (method) {
    case "test":
      if (!deps.config.testCredits) throw refuse("method", testCreditsOff(deps));
      return "test";
    case "manual":
      if (!isAdmin) throw new AppError("FORBIDDEN", "Only a platform administrator may create a manual purchase.");
      return "manual";
    default:
      throw refuse("method", "The method must be card, manual or test.");
  }
}

function testCreditsOff({ payments }: ControlDeps): string {
  const instead = payments ? 'Use method "card"' : "Ask the operator for credits";
  return `Test credits are disabled on this server. ${instead}, or have the operator set TEST_CREDITS=true.`;
}

function requirePayments({ payments }: ControlDeps): Payments {
  if (!payments) throw refuse("method", "Card payments are not configured on this server.");
  return payments;
}

function checkCardAmount(amount: bigint): void {
  if (amount % NANO_PER_CENT !== 0n) throw refuse("amount", "The amount of a card payment must be a whole number of cents.");
  if (amount < CARD_NANO_MIN) throw refuse("amount", "The amount of a card payment must be at least 0.50 USD.");
  if (amount > CARD_NANO_MAX) throw refuse("amount", "The amount of a card payment must be at most 999,999.99 USD.");
}

function refuse(field: "method" | "amount", message: string): AppError {
  return new AppError("VALIDATION_ERROR", message, { details: [{ path: `body.${field}`, message }] });
}
