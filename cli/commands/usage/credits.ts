import type { Command } from "commander";
import { usageError } from "../../cli-error.ts";
import type { Io } from "../../io.ts";
import { registerGroup, registerOperation } from "../../operations/register.ts";
import { argument, filter, type OperationSpec, option, type RequestValues } from "../../operations/spec.ts";
import { type Column, format, valueAt } from "../../output/values.ts";

const balance: OperationSpec = {
  name: "balance",
  summary: "Show the credit balance of the active organization",
  method: "GET",
  path: "/api/balance",
  auth: "user",
  view: {
    kind: "sentence",
    text: (body) =>
      `${format(valueAt(body, "balance"), "usd")} (${format(valueAt(body, "balance"), "count")} nano-USD), ${String(valueAt(body, "status"))}`,
    id: "balance",
  },
};

const quota: OperationSpec = {
  name: "quota",
  summary: "Show credits in detail: reserved, available, purchased, used, days left",
  method: "GET",
  path: "/api/quota",
  auth: "user",
  view: {
    kind: "record",
    at: "quota",
    fields: [
      { title: "balance", at: "balance", as: "usd" },
      { title: "reserved", at: "reserved", as: "usd" },
      { title: "available", at: "available", as: "usd" },
      { title: "purchased", at: "totalPurchased", as: "usd" },
      { title: "granted", at: "totalGranted", as: "usd" },
      { title: "rewards", at: "totalRewarded", as: "usd" },
      { title: "used", at: "totalUsed", as: "usd" },
      { title: "used per day", at: "burnRatePerDay", as: "usd" },
      { title: "days left", at: "estimatedDaysLeft" },
      { title: "status", at: "status", as: "state" },
      { title: "blocked teams", at: "blockedTeams", as: "count" },
      { title: "organization", at: "organizationId" },
    ],
    id: "quota.available",
  },
};

const purchaseColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "amount", at: "amount", as: "usd" },
  { title: "method", at: "method" },
  { title: "status", at: "status", as: "state" },
  { title: "created", at: "createdAt", as: "time" },
  { title: "reference", at: "reference" },
];

const entryColumns: readonly Column[] = [
  { title: "entry", at: "seq", as: "count" },
  { title: "type", at: "type" },
  { title: "amount", at: "amount", as: "usd" },
  { title: "balance after", at: "balanceAfter", as: "usd" },
  { title: "call or purchase", at: "callId|purchaseId|reference" },
  { title: "time", at: "createdAt", as: "time" },
];

const operations: readonly OperationSpec[] = [
  {
    name: "buy",
    summary: "Buy credits by card, or test credits if the server offers them",
    method: "POST",
    path: "/api/credits/purchase",
    auth: "user",
    fields: [
      option("--usd <amount>", "amount in USD", "amountUsd"),
      option("--nano <amount>", "amount in nano-USD", "amount", { kind: "integer" }),
      option("--method <method>", "payment method", "method", { choices: ["test", "card", "manual"] }),
    ],
    before: requireOneAmount,
    view: {
      kind: "record",
      fields: [
        ...purchaseColumns.map((column) => ({ ...column, at: `purchase.${column.at}` })),
        { title: "pay at", at: "purchase.checkoutUrl" },
        { title: "balance", at: "balance", as: "usd" },
      ],
      id: "purchase.id",
    },
  },
  {
    name: "history",
    summary: "List purchases, newest first",
    method: "GET",
    path: "/api/credits/purchases",
    auth: "user",
    view: { kind: "list", columns: purchaseColumns, id: "id", empty: "No purchases yet. Buy credits with `gw credits buy --usd 5`." },
  },
  {
    name: "receipt",
    summary: "Show the receipt of a purchase",
    method: "GET",
    path: "/api/credits/purchases/:id/receipt",
    auth: "user",
    fields: [argument("id", "purchase ID")],
    view: {
      kind: "record",
      at: "receipt",
      fields: [
        { title: "purchase", at: "purchaseId" },
        { title: "organization", at: "organization.name" },
        { title: "description", at: "description" },
        { title: "amount", at: "amount", as: "usd" },
        { title: "refunded", at: "returned", as: "usd" },
        { title: "net", at: "net", as: "usd" },
        { title: "method", at: "method" },
        { title: "status", at: "status", as: "state" },
        { title: "paid", at: "paidAt", as: "time" },
      ],
      id: "receipt.purchaseId",
    },
  },
  {
    name: "ledger",
    summary: "List ledger entries, newest first",
    method: "GET",
    path: "/api/credits/ledger",
    auth: "user",
    fields: [
      filter("--type <type>", "filter by type", "type", { choices: ["purchase", "grant", "usage", "reward", "adjustment", "refund"] }),
    ],
    view: { kind: "list", columns: entryColumns, id: "seq", empty: "No ledger entries yet." },
  },
];

export function registerCredits(program: Command, io: Io): void {
  registerOperation(program, io, balance);
  registerOperation(program, io, quota);
  registerGroup(program, io, { name: "credits", summary: "Buy credits, view purchases and ledger", operations, default: "history" });
}

async function requireOneAmount(_context: unknown, { body }: RequestValues): Promise<void> {
  if ((body["amount"] === undefined) === (body["amountUsd"] === undefined))
    throw usageError("Set either --usd or --nano.", "Run gw credits buy --usd 5");
}
