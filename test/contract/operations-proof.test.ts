import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fromJson } from "../../common/json.ts";
import { checkReceipt } from "../../common/receipt.ts";
import { type Answer, adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";
import { type Ask, eachOf, expectError, within } from "./support.ts";

const root = resolve(import.meta.dirname, "../..");
const CALLS = 1_030;
const KEYS_PATH = "/.well-known/tributary-receipts.json";

let system: System;
let tenant: Tenant;
let admin: string;
let ask: Ask;
let first: Answer;

beforeAll(async () => {
  system = await startSystem();
  [tenant, admin] = [await newTenant(system, { creditNano: 1_000_000_000 }), await adminToken(system)];
  ask = (method, path, options) => call(system.url, method, path, options);
  first = await chat(system, tenant.key, "a call with a receipt");
});
afterAll(() => system.stop());

const idOf = (answer: Answer) => answer.headers.get("x-gw-call-id") ?? "";
const receiptOf = (id: string, token = tenant.token) => ask("GET", `/api/gw/logs/${id}/receipt`, { token });

interface Ran {
  code: number;
  output: string;
}

/** A script as an operator runs it. */
function run(script: string, options: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return new Promise((settle) => {
    const given = { cwd: root, env: { PATH: process.env["PATH"], ...env }, timeout: 30_000 };
    execFile(process.execPath, [join("scripts", script), ...options], given, (error, stdout, stderr) => {
      settle({ code: error ? Number(error.code ?? -1) : 0, output: stdout + stderr });
    });
  });
}

describe("receipts", () => {
  test("say what the log and the ledger say, signed by a published key", async () => {
    const answer = await receiptOf(idOf(first));
    expect(answer.status).toBe(200);
    const { log } = (await ask("GET", `/api/gw/logs/${idOf(first)}`, { token: tenant.token })).body;
    expect(answer.body).toEqual({
      receipt: {
        callId: log.callId,
        organizationId: tenant.organizationId,
        model: "echo",
        provider: "echo",
        status: "success",
        usage: log.usage,
        priceVersion: log.priceVersion,
        prices: expect.objectContaining({ unit: "token", input: 1_000_000_000, output: 2_000_000_000 }),
        cost: log.cost,
        costUsd: log.costUsd,
        ledgerSeq: log.ledgerSeq,
        entryHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        createdAt: log.createdAt,
      },
      lines: [
        { name: "input", title: "input", amount: log.usage.input, price: 1_000_000_000, costUsd: expect.any(String) },
        { name: "output", title: "output", amount: log.usage.output, price: 2_000_000_000, costUsd: expect.any(String) },
      ],
      signature: expect.any(String),
      keyId: expect.any(String),
      algorithm: "Ed25519",
    });
    const sum = answer.body.lines.reduce((total: number, { costUsd }: { costUsd: string }) => total + Number(costUsd), 0);
    expect(sum).toBeCloseTo(Number(log.costUsd), 9);
    const { input, output } = answer.body.receipt.prices;
    expect(Math.ceil((log.usage.input * input + log.usage.output * output) / 1_000_000)).toBe(log.cost);
    const keys = await ask("GET", KEYS_PATH);
    expect(keys.status).toBe(200);
    expect(checkReceipt(fromJson(answer.text), fromJson(keys.text))).toEqual({ ok: true, keyId: answer.body.keyId });
    expect((await receiptOf(idOf(first))).text).toBe(answer.text);
  });

  test("the key survives a control plane that dies", async () => {
    const before = (await receiptOf(idOf(first))).body;
    await system.killControlPlane();
    const after = await within(
      10_000,
      () => receiptOf(idOf(first)),
      ({ status }) => status === 200,
    );
    expect(after.body).toEqual(before);
    expect((await ask("GET", KEYS_PATH)).body.keys).toHaveLength(1);
  });

  test("there is no receipt for another tenant's call", async () => {
    const other = await newTenant(system);
    expectError(await receiptOf(idOf(first), other.token), 404, "NOT_FOUND");
    expectError(await receiptOf("call_nothing"), 404, "NOT_FOUND");
    expectError(await ask("GET", `/api/gw/logs/${idOf(first)}/receipt`), 401, "UNAUTHORIZED");
  });

  test("a saved one is checked offline, and a changed one is refused", async () => {
    const saved = (name: string, text: string) => {
      const path = join(system.folder, name);
      writeFileSync(path, text);
      return path;
    };
    const { text, body } = await receiptOf(idOf(first));
    saved("tributary-receipts.json", (await ask("GET", KEYS_PATH)).text);
    const good = await run("verify-receipt.ts", [saved("receipt.json", JSON.stringify(JSON.parse(text), null, 2))]);
    expect(good).toMatchObject({ code: 0, output: expect.stringContaining(`valid, signed by ${body.keyId}`) });
    const cheaper = text.replace(`"cost":${body.receipt.cost}`, `"cost":${body.receipt.cost - 1}`);
    expect(cheaper).not.toBe(text);
    const bad = await run("verify-receipt.ts", [saved("changed.json", cheaper)]);
    expect(bad).toMatchObject({ code: 1, output: expect.stringContaining("NOT VALID: the signature does not match") });
    const keys = saved("other-keys.json", '{"keys":[]}');
    expect(await run("verify-receipt.ts", [join(system.folder, "receipt.json"), keys])).toMatchObject({ code: 1 });
  });
});

describe("replay", () => {
  const replay = (query = "", token = admin) => ask("GET", `/api/admin/ledger/replay${query}`, { token });
  const find = (answer: Answer) =>
    answer.body.data.find(({ organizationId }: { organizationId: string }) => organizationId === tenant.organizationId);

  test("gives every organization's balance of now and of then, and finds the charts equal", async () => {
    const { balance } = (await ask("GET", "/api/balance", { token: tenant.token })).body;
    const now = await replay("?pageSize=100");
    expect(now.status).toBe(200);
    expect(now.body).toMatchObject({ withPrices: null, rollups: { equal: true, firstDifference: null } });
    expect(find(now)).toMatchObject({ balance, repricing: null });
    const entries = (await ask("GET", "/api/credits/ledger?pageSize=100", { token: tenant.token })).body.data;
    for (const entry of entries) {
      const then = await replay(`?pageSize=100&asOf=${encodeURIComponent(entry.createdAt)}`);
      const newest = entries.find(({ createdAt }: { createdAt: string }) => createdAt <= entry.createdAt);
      expect(find(then)).toMatchObject({ balance: newest.balanceAfter, lastSeq: newest.seq });
    }
    const before = await replay("?pageSize=100&as_of=2020-01-01T00:00:00Z");
    expect(find(before)).toMatchObject({ balance: 0, entries: 0 });
  });

  test("prices the calls again as they would have been charged at another time", async () => {
    const owner = await newTenant(system, { creditNano: 1_000_000_000 });
    const model = await ask("POST", "/api/admin/models", {
      token: admin,
      body: { name: "repriced", provider: "echo", inferenceModelId: "echo", pricing: { input: 1_000_000, output: 1_000_000 } },
    });
    await within(
      1000,
      () => chat(system, owner.key, "one two three", { model: "repriced" }),
      ({ status }) => status === 200,
    );
    const changed = await ask("PATCH", `/api/admin/models/${model.body.model.id}`, {
      token: admin,
      body: { pricing: { input: 2_000_000, output: 5_000_000 } },
    });
    const { effectiveAt } = changed.body.model.pricing;
    const answer = await replay(`?pageSize=100&withPrices=${encodeURIComponent(effectiveAt)}`);
    const found = answer.body.data.find(({ organizationId }: { organizationId: string }) => organizationId === owner.organizationId);
    expect(found.repricing).toMatchObject({
      charged: 6,
      repriced: 21,
      difference: 15,
      differenceUsd: "0.000000015",
      repricedCalls: 1,
      keptCalls: 0,
    });
    // The replay changed nothing.
    expect((await ask("GET", "/api/balance", { token: owner.token })).body.balance).toBe(1_000_000_000 - 6);
  });

  test("is for admins and the master key; wrong times are 400", async () => {
    for (const path of ["/api/admin/ledger/replay", "/api/admin/ledger/verify"]) {
      expectError(await ask("GET", path), 401, "UNAUTHORIZED");
      expectError(await ask("GET", path, { token: tenant.token }), 403, "FORBIDDEN");
      expectError(await ask("GET", path, { token: tenant.key }), 401, "UNAUTHORIZED");
      expectError(await ask("GET", path, { token: `${MASTER_KEY}x` }), 401, "UNAUTHORIZED");
      expect((await ask("GET", path, { token: MASTER_KEY })).status).toBe(200);
    }
    for (const token of [admin, MASTER_KEY]) {
      expectError(await replay("?asOf=yesterday", token), 400, "VALIDATION_ERROR", "asOf");
      expectError(await replay("?withPrices=2026-01-01", token), 400, "VALIDATION_ERROR", "withPrices");
    }
    // The master key opens what is for admins and nothing else of the platform.
    for (const path of ["/api/balance", "/api/auth/me"]) {
      expectError(await ask("GET", path, { token: MASTER_KEY }), 401, "UNAUTHORIZED");
    }
  });
});

describe("the operator's script", () => {
  test("reports sound books, by the master key and by a token", async () => {
    for (const secret of [{ MASTER_KEY }, { ADMIN_TOKEN: admin }]) {
      const verified = await run("admin-ledger.ts", ["verify"], { URL: system.url, ...secret });
      expect(verified).toMatchObject({ code: 0, output: expect.stringContaining("the ledger is valid") });
    }
    const replayed = await run("admin-ledger.ts", ["replay", "--with-prices", "2026-01-01T00:00:00Z"], { URL: system.url, MASTER_KEY });
    expect(replayed.output).toContain(tenant.organizationId);
    expect(replayed).toMatchObject({ code: 0, output: expect.stringContaining("roll-ups match the usage rows") });
  });

  test("says what is wrong with how it was called", async () => {
    expect(await run("admin-ledger.ts", ["verify"], { URL: system.url })).toMatchObject({
      code: 1,
      output: expect.stringContaining("ADMIN_TOKEN"),
    });
    const refused = await run("admin-ledger.ts", ["verify"], { URL: system.url, MASTER_KEY: "sk-not-the-master-key" });
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining("401") });
    expect(await run("admin-ledger.ts", [], { URL: system.url, MASTER_KEY })).toMatchObject({
      code: 1,
      output: expect.stringContaining("usage"),
    });
  });
});

test(`an export of more than a page of the control plane holds every call, and its total is the log's`, async () => {
  const owner = await newTenant(system, { creditNano: 1_000_000_000 });
  await eachOf(
    Array.from({ length: CALLS }, (_, index) => index),
    async () => void (await chat(system, owner.key, "again")),
    24,
  );
  const { meta } = (await ask("GET", "/api/gw/logs?pageSize=1", { token: owner.token })).body;
  const csv = await ask("GET", "/api/gw/logs?format=csv", { token: owner.token });
  const [header = "", ...lines] = csv.text.trimEnd().split("\r\n");
  const cost = header.split(",").indexOf("cost");
  expect(lines).toHaveLength(CALLS);
  expect(meta.totals.requests).toBe(CALLS);
  expect(lines.reduce((sum, line) => sum + Number(line.split(",")[cost]), 0)).toBe(meta.totals.cost);
  expect((await ask("GET", "/api/quota", { token: owner.token })).body.quota.totalUsed).toBe(meta.totals.cost);
});
