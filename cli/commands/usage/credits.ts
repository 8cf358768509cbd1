import type { Command } from "commander";
import { usageError } from "../../cli-error.ts";
import type { Io } from "../../io.ts";
import { registerGroup, registerOperation } from "../../operations/register.ts";
import { filter, given, type OperationSpec, type Values, word } from "../../operations/spec.ts";
import { type Column, shown, valueAt } from "../../output/values.ts";

const balance: OperationSpec = {
  name: "balance",
  summary: "Credits of the active organisation",
  method: "GET",
  path: "/api/balance",
  auth: "user",
  view: {
    kind: "sentence",
    text: (body) =>
      `${shown(valueAt(body, "balance"), "usd")} (${shown(valueAt(body, "balance"), "count")} nano-USD), ${String(valueAt(body, "status"))}`,
    id: "balance",
  },
};

const quota: OperationSpec = {
  name: "quota",
  summary: "Credits in detail: what is set aside, bought, used, and how long it lasts",
  method: "GET",
  path: "/api/quota",
  auth: "user",
  view: {
    kind: "record",
    at: "quota",
    fields: [
      { title: "balance", at: "balance", as: "usd" },
      { title: "set aside", at: "reserved", as: "usd" },
      { title: "available", at: "available", as: "usd" },
      { title: "bought", at: "totalPurchased", as: "usd" },
      { title: "granted", at: "totalGranted", as: "usd" },
      { title: "rewards", at: "totalRewarded", as: "usd" },
      { title: "used", at: "totalUsed", as: "usd" },
      { title: "used a day", at: "burnRatePerDay", as: "usd" },
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
  { title: "at", at: "createdAt", as: "time" },
];

const operations: readonly OperationSpec[] = [
  {
    name: "buy",
    summary: "Buy credits: by card, or test credits where the server has them",
    method: "POST",
    path: "/api/credits/purchase",
    auth: "user",
    fields: [
      given("--usd <amount>", "how much, in USD", "amountUsd"),
      given("--nano <amount>", "how much, in nano-USD", "amount", { kind: "integer" }),
      given("--method <method>", "how", "method", { choices: ["test", "card", "manual"] }),
    ],
    before: oneAmount,
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
    summary: "Purchases, newest first",
    method: "GET",
    path: "/api/credits/purchases",
    auth: "user",
    view: { kind: "list", columns: purchaseColumns, id: "id", empty: "Nothing bought yet. `gw credits buy --usd 5` does." },
  },
  {
    name: "receipt",
    summary: "Receipt of a purchase",
    method: "GET",
    path: "/api/credits/purchases/:id/receipt",
    auth: "user",
    fields: [word("id", "which purchase")],
    view: {
      kind: "record",
      at: "receipt",
      fields: [
        { title: "purchase", at: "purchaseId" },
        { title: "organization", at: "organization.name" },
        { title: "description", at: "description" },
        { title: "amount", at: "amount", as: "usd" },
        { title: "returned", at: "returned", as: "usd" },
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
    summary: "Every movement of credit, newest first",
    method: "GET",
    path: "/api/credits/ledger",
    auth: "user",
    fields: [filter("--type <type>", "only these", "type", { choices: ["purchase", "grant", "usage", "reward", "adjustment", "refund"] })],
    view: { kind: "list", columns: entryColumns, id: "seq", empty: "No movements yet." },
  },
];

export function registerCredits(program: Command, io: Io): void {
  registerOperation(program, io, balance);
  registerOperation(program, io, quota);
  registerGroup(program, io, { name: "credits", summary: "Buy credits, purchases, ledger", operations, alone: "history" });
}

async function oneAmount(_context: unknown, { body }: Values): Promise<void> {
  if ((body["amount"] === undefined) === (body["amountUsd"] === undefined))
    throw usageError("Give --usd or --nano.", "gw credits buy --usd 5");
}
