import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { teamsHandlers } from "../teams/service.ts";
import { ledgerHandlers } from "./service.ts";

let platform: Platform;
const open = async (environment: Record<string, string> = {}) => {
  await platform?.close();
  platform = await openPlatform(environment);
};
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const ledger = () => ledgerHandlers(platform.deps);
const buy = (who: Who, method = "test", amount = 500n) => ledger().createPurchase({ amount, method }, platform.as(who));
const grant = (amount: bigint, organizationId = platform.organization.id) =>
  ledger().grantCredits({ organizationId, amount }, platform.as("operator"));
const balance = async (who: Who) => (await ledger().getBalance({}, platform.as(who))).balance;
const statuses = async () =>
  (await teamsHandlers(platform.deps).listTeams({ page: undefined }, platform.as("owner"))).teams.map(({ status }) => status);

test("every member reads the balance of the active organization, and of no other", async () => {
  expect(await outcomeOf(balance("anonymous"))).toBe("UNAUTHORIZED");
  await buy("owner");
  expect(await Promise.all((["owner", "colleague", "stranger"] as const).map(balance))).toEqual([1500n, 1500n, 1000n]);
});

test("only owners and admins of an organization buy credits", async () => {
  expect(await platform.outcomes((_context, who) => buy(who))).toEqual({
    anonymous: "UNAUTHORIZED",
    operator: "ok",
    owner: "ok",
    manager: "ok",
    lead: "FORBIDDEN",
    member: "FORBIDDEN",
    colleague: "FORBIDDEN",
    stranger: "ok",
  });
});

test.each([
  ["test", { TEST_CREDITS: "false" }, "owner", "VALIDATION_ERROR"],
  ["manual", {}, "owner", "FORBIDDEN"],
  ["manual", {}, "operator", "ok"],
  ["card", {}, "owner", "VALIDATION_ERROR"],
  ["barter", {}, "owner", "VALIDATION_ERROR"],
  ["", {}, "owner", "ok"],
] as const)("a purchase by %j with %j by %s: %s", async (method, environment, who, expected) => {
  await open(environment);
  expect(await outcomeOf(buy(who, method))).toBe(expected);
});

test("a repeated Idempotency-Key buys once", async () => {
  const context = platform.as("owner", { "idempotency-key": "i", "idempotency-hash": "a" });
  for (let time = 0; time < 2; time++) await ledger().createPurchase({ amount: 500n, method: "test" }, context);
  expect(await balance("owner")).toBe(1500n);
});

test.each(["grantCredits", "verifyLedger"] as const)("%s is for platform admins", async (method) => {
  const request = { organizationId: platform.organization.id, amount: 5n, fast: true };
  const { anonymous, operator, ...others } = await platform.outcomes((context) => ledger()[method](request, context));
  expect([anonymous, operator, ...new Set(Object.values(others))]).toEqual(["UNAUTHORIZED", "ok", "FORBIDDEN"]);
});

test("a grant needs an amount and an existing organization", async () => {
  expect(await Promise.all([grant(0n), grant(5n, "org_none")].map(outcomeOf))).toEqual(["VALIDATION_ERROR", "NOT_FOUND"]);
});

test("a balance below zero blocks every team, and credits unblock them in the same write", async () => {
  await grant(-1001n);
  expect([await balance("owner"), await statuses()]).toEqual([-1n, ["blocked"]]);
  await buy("owner", "test", 1n);
  expect([await balance("owner"), await statuses()]).toEqual([0n, ["active"]]);
});

test("entries, purchases and receipts of another organization do not exist", async () => {
  const { purchase } = await buy("owner");
  const receipt = (who: Who) => ledger().getReceipt({ purchaseId: purchase?.id ?? "" }, platform.as(who));
  expect(await Promise.all([receipt("member"), receipt("stranger")].map(outcomeOf))).toEqual(["ok", "NOT_FOUND"]);
  expect((await ledger().listPurchases({ page: undefined }, platform.as("stranger"))).purchases).toEqual([]);
  const { entries } = await ledger().listEntries({ page: undefined }, platform.as("stranger"));
  expect(entries.map(({ type, amount }) => [type, amount])).toEqual([["grant", 1000n]]);
});

test("the ledger verifies after purchases, grants and corrections", async () => {
  await buy("owner");
  await grant(-700n);
  expect(await ledger().verifyLedger({ fast: false }, platform.as("operator"))).toMatchObject({ ok: true, sum: 0n, firstBad: undefined });
});
