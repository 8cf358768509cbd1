import type { EdgeDeps } from "../../deps.ts";
import { idParams, pageQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/billing.ts";
import { DEADLINE_MS, type Operation, operation } from "../middleware/operation.ts";
import { money, presentLedgerEntry, presentList, presentPurchase, presentQuota, sent } from "./present.ts";

const tag = "Credits";

export function billingOperations(deps: EdgeDeps): Operation[] {
  return [getBalance(deps), getQuota(deps), purchase(deps), listPurchases(deps), getReceipt(deps), listEntries(deps)];
}

const getBalance = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/balance",
    summary: "The balance of the active organization",
    tag,
    auth: "user",
    status: 200,
    answer: schemas.balanceAnswer,
    handler: async (_input, call) => {
      const { balance, organizationId, status } = await control.ledger.getBalance({}, call.read());
      return { ...money("balance", balance), currency: "nano-USD" as const, organizationId, status };
    },
  });

const getQuota = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/quota",
    summary: "Credit in detail: reserved, purchased, used, and the estimated days left",
    tag,
    auth: "user",
    status: 200,
    answer: schemas.quotaAnswer,
    handler: async (_input, call) => {
      const { quota } = await control.ledger.getQuota({}, call.read());
      return { quota: presentQuota(sent(quota, "quota")) };
    },
  });

const purchase = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/credits/purchase",
    summary: "Buy credits for the active organization, which unblocks its teams; with method card, pay at checkoutUrl",
    tag,
    auth: "user",
    body: schemas.purchaseBody,
    status: 201,
    answer: schemas.purchaseAnswer,
    handler: async ({ body }, call) => {
      const made = await control.ledger.createPurchase(body, call.write(DEADLINE_MS.checkout));
      return { purchase: presentPurchase(sent(made.purchase, "purchase")), ...money("balance", made.balance) };
    },
  });

const listPurchases = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/credits/purchases",
    summary: "List the purchases of the active organization, newest first",
    tag,
    auth: "user",
    query: pageQuery,
    status: 200,
    answer: schemas.listPurchasesAnswer,
    handler: async ({ query }, call) => {
      const { purchases, meta } = await control.ledger.listPurchases({ page: query }, call.read());
      return presentList(purchases, meta, presentPurchase);
    },
  });

const getReceipt = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/credits/purchases/:id/receipt",
    summary: "The receipt of a paid purchase, with later refunds",
    tag,
    auth: "user",
    params: idParams,
    status: 200,
    answer: schemas.receiptAnswer,
    handler: async ({ params }, call) => {
      const { receipt } = await control.ledger.getReceipt({ purchaseId: params.id }, call.read());
      const { purchase, organizationName, returned, entries } = sent(receipt, "receipt");
      const { id, organizationId, amount, method, status, reference, completedAt } = presentPurchase(sent(purchase, "purchase"));
      return {
        receipt: {
          purchaseId: id,
          organization: { id: organizationId, name: organizationName },
          description: "Credits",
          ...money("amount", amount),
          ...money("returned", returned),
          ...money("net", amount - returned),
          currency: "USD" as const,
          method,
          status,
          reference,
          paidAt: sent(completedAt ?? undefined, "completedAt"),
          entries: entries.map(presentLedgerEntry),
        },
      };
    },
  });

const listEntries = ({ control }: EdgeDeps) =>
  operation({
    method: "get",
    path: "/api/credits/ledger",
    summary: "List the ledger entries of the active organization, newest first",
    tag,
    auth: "user",
    query: schemas.listEntriesQuery,
    status: 200,
    answer: schemas.listEntriesAnswer,
    handler: async ({ query: { page, pageSize, type } }, call) => {
      // A filter by type scans all entries.
      const options = call.read(type === undefined ? DEADLINE_MS.read : DEADLINE_MS.export);
      const { entries, meta } = await control.ledger.listEntries({ page: { page, pageSize }, type }, options);
      return presentList(entries, meta, presentLedgerEntry);
    },
  });
