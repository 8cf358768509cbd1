import { adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError } from "./support.ts";

let system: System;
let tenant: Tenant;
let admin: string;
let ask: Ask;

beforeAll(async () => {
  system = await startSystem();
  [tenant, admin] = [await newTenant(system), await adminToken(system)];
  ask = (method, path, options) => call(system.url, method, path, options);
});
afterAll(() => system.stop());

const balanceOf = async (token = tenant.token): Promise<number> => (await ask("GET", "/api/balance", { token })).body.balance;
const buy = (body: unknown, token = tenant.token) => ask("POST", "/api/credits/purchase", { token, body });

describe("purchases", () => {
  test("amount in nano-USD: 201 with the purchase and the balance after it", async () => {
    const before = await balanceOf();
    const answer = await buy({ amount: 1_234_567_890, method: "test" });
    expect(answer.status).toBe(201);
    records.expectShape(records.purchase, answer.body.purchase);
    expect(answer.body).toMatchObject({
      balance: before + 1_234_567_890,
      purchase: {
        organizationId: tenant.organizationId,
        amount: 1_234_567_890,
        amountUsd: "1.23456789",
        method: "test",
        status: "completed",
        checkoutUrl: null,
        createdBy: tenant.userId,
      },
    });
    expect(await balanceOf()).toBe(before + 1_234_567_890);
  });

  test.each([
    [{ amountUsd: "2.50" }, 2_500_000_000],
    [{ amountUsd: 2.25 }, 2_250_000_000],
    [{ amount_usd: "0.000000001" }, 1],
    [{ amountUsd: "1000000" }, 1_000_000_000_000_000],
  ])("%p is exactly %d nano-USD", async (body, nano) => {
    const before = await balanceOf();
    const answer = await buy({ ...body, method: "test" });
    expect(answer.status).toBe(201);
    expect(answer.body.purchase.amount).toBe(nano);
    expect(await balanceOf()).toBe(before + nano);
  });

  test.each([
    ['{"amount":-1}'],
    ['{"amount":0}'],
    ['{"amount":1e30}'],
    ['{"amount":9007199254740993}'],
    ['{"amount":"1"}'],
    ['{"amount":1.5}'],
    ['{"amount":null}'],
    ['{"amount":true}'],
    ['{"amount":[1]}'],
    ['{"amount":{"$gt":0}}'],
    ['{"amountUsd":"-1"}'],
    ['{"amountUsd":"0"}'],
    ['{"amountUsd":"1e3"}'],
    ['{"amountUsd":"0.0000000001"}'],
    ['{"amountUsd":"1000000.01"}'],
    ['{"amountUsd":"NaN"}'],
    ['{"amountUsd":"1,5"}'],
    ["{}"],
    ['{"amount":1,"amountUsd":"1"}'],
  ])("%s is 400 and moves nothing", async (body) => {
    const before = await balanceOf();
    expectError(await buy(body), 400, "VALIDATION_ERROR", "amount");
    expect(await balanceOf()).toBe(before);
  });

  test("manual is an admin's; card is refused where no payments are set up; others do not exist", async () => {
    expectError(await buy({ amount: 1, method: "manual" }), 403, "FORBIDDEN");
    expectError(await buy({ amount: 1, method: "card" }), 400, "VALIDATION_ERROR", "method");
    expectError(await buy({ amount: 1, method: "gold" }), 400, "VALIDATION_ERROR", "method");
    const event = { body: { id: "evt_1" }, headers: { "stripe-signature": "t=1,v1=00" } };
    expectError(await ask("POST", "/api/webhooks/payments/stripe", event), 400, "VALIDATION_ERROR");
    const manual = await buy({ amount: 3, method: "manual" }, admin);
    expect([manual.status, manual.body.purchase.method]).toEqual([201, "manual"]);
  });

  test("are listed newest first, and never another organization's", async () => {
    const owner = await newTenant(system);
    for (const amount of [11, 22, 33]) await buy({ amount }, owner.token);
    const list = await ask("GET", "/api/credits/purchases", { token: owner.token });
    records.expectShape(records.listOf(records.purchase), list.body);
    expect(list.body.data.map(({ amount }: { amount: number }) => amount)).toEqual([33, 22, 11]);
  });
});

describe("ledger and quota", () => {
  test("balance, quota and ledger agree through purchase, grant, usage and adjustment", async () => {
    const owner = await newTenant(system);
    const { token } = owner;
    await buy({ amount: 1_000_000_000 }, token);
    const credit = (amount: number, reference?: string) =>
      ask("POST", `/api/admin/organizations/${owner.organizationId}/credits`, {
        token: admin,
        body: { amount, ...(reference ? { reference } : {}) },
      });
    const granted = await credit(500, "a welcome");
    expect(granted.status).toBe(201);
    records.expectShape(records.ledgerEntry, granted.body.entry);
    expect(granted.body.entry).toMatchObject({ type: "grant", amount: 500, reference: "a welcome", callId: null, purchaseId: null });
    const answer = await chat(system, owner.key, "one two three");
    const cost = Number(answer.headers.get("x-gw-cost-nano"));
    expect(cost).toBeGreaterThan(0);
    const taken = await credit(-200);
    expect(taken.body.entry).toMatchObject({ type: "adjustment", amount: -200 });

    const { body: list } = await ask("GET", "/api/credits/ledger", { token });
    records.expectShape(records.listOf(records.ledgerEntry), list);
    expect(list.data.map(({ type }: { type: string }) => type)).toEqual(["adjustment", "usage", "grant", "purchase"]);
    const [adjustment, usage, , purchase] = list.data;
    expect(usage).toMatchObject({ amount: -cost, callId: answer.headers.get("x-gw-call-id"), purchaseId: null });
    expect(purchase).toMatchObject({ amount: 1_000_000_000, callId: null, purchaseId: expect.stringMatching(/^pur_/) });
    let running = 0;
    for (const entry of list.data.toReversed()) {
      running += entry.amount;
      expect(entry.balanceAfter).toBe(running);
    }
    const { body: balance } = await ask("GET", "/api/balance", { token });
    expect(balance).toEqual({
      balance: running,
      balanceUsd: expect.any(String),
      currency: "nano-USD",
      organizationId: owner.organizationId,
      status: "active",
    });
    const { quota } = (await ask("GET", "/api/quota", { token })).body;
    records.expectShape(records.quota, quota);
    expect(quota).toMatchObject({
      organizationId: owner.organizationId,
      balance: running,
      reserved: 0,
      available: running,
      totalPurchased: 1_000_000_000,
      totalRewarded: 0,
      totalUsed: cost,
      blockedTeams: 0,
      lowBalanceThreshold: null,
      ledgerSeq: adjustment.seq,
      status: "active",
    });
    expect(quota.totalPurchased + quota.totalGranted + quota.totalRewarded - quota.totalUsed).toBe(quota.balance);
    expect(quota.available).toBe(quota.balance - quota.reserved);
  });

  test("is narrowed by type", async () => {
    const only = await ask("GET", "/api/credits/ledger?type=purchase", { token: tenant.token });
    expect(new Set(only.body.data.map(({ type }: { type: string }) => type))).toEqual(new Set(["purchase"]));
    expectError(await ask("GET", "/api/credits/ledger?type=gift", { token: tenant.token }), 400, "VALIDATION_ERROR", "type");
  });

  test("a balance below zero blocks the teams for quota, and a purchase that lifts it unblocks them", async () => {
    const owner = await newTenant(system);
    const { token } = owner;
    const credit = { token: admin, body: { amount: -500 } };
    expect((await ask("POST", `/api/admin/organizations/${owner.organizationId}/credits`, credit)).body.balance).toBe(-500);
    expect((await ask("GET", "/api/balance", { token })).body).toMatchObject({
      balance: -500,
      balanceUsd: "-0.0000005",
      status: "blocked",
    });
    expect((await ask("GET", "/api/quota", { token })).body.quota).toMatchObject({ status: "blocked", blockedTeams: 1, available: -500 });
    const { team } = (await ask("GET", `/api/gw/teams/${owner.teamId}`, { token })).body;
    expect(team).toMatchObject({ status: "blocked", blockedReason: "quota", blockedAt: expect.any(String) });
    expect((await ask("GET", "/api/api-keys", { token })).body.data[0].status).toBe("blocked");
    await buy({ amount: 10_000_000 }, token);
    expect((await ask("GET", `/api/gw/teams/${owner.teamId}`, { token })).body.team).toMatchObject({
      status: "active",
      blockedReason: null,
      blockedAt: null,
    });
    expect((await chat(system, owner.key, "again")).status).toBe(200);
  });
});
