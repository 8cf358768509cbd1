import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reportedCall, settle } from "../../control-plane/proof/ledger-fixture.ts";
import { openEmbeddedStore } from "../../control-plane/stores/embedded/store.ts";
import { type Answer, adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type System, startSystem } from "../helpers/system.ts";
import { isThorough } from "../helpers/thorough.ts";
import { printLine } from "./ledger-checks.ts";

const ROWS = isThorough ? 200_000 : 60_000;
const ROWS_AT_ONCE = 4_000;
const COST = 10;
/** Three calls a second, the last of them an hour ago. */
const BETWEEN_MS = 333;
const HOUR_MS = 3_600_000;
/** Every so-manieth call failed. */
const ERRORS_EVERY = 1_000;
/** Every so-manieth was made with a key of another name. */
const RARE_EVERY = 2_500;
/** Well above a settled batch, and far below a look at all the rows. */
const BLOCK_MS_MAX = 250;

const SEARCHES = [
  "search=zzzz",
  "search=call_0",
  "status=error",
  "model=other",
  "model=missing",
  "provider=missing&search=echo",
  "page=2000",
];

let folder: string;
let system: System;
let tenant: Tenant;
let limitedKey: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tributary-blocks-"));
  system = await startSystem({
    env: { LOOP_BLOCKS_FILE: blocksFile() },
    controlPlaneFlags: ["--import", resolve(import.meta.dirname, "../helpers/loop-blocks.ts")],
  });
  tenant = await newTenant(system, { creditNano: 100_000_000_000 });
  // A few calls a minute are asked for one by one: each of these calls waits for an answer of the control plane.
  const body = { name: "limited", team_id: tenant.teamId, maxBudget: 50_000_000_000 };
  limitedKey = (await call(system.url, "POST", "/api/gw/api-keys", { token: tenant.token, body })).body.key;
  await system.killControlPlane(fill);
}, 180_000);
afterAll(async () => {
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

const blocksFile = () => join(folder, "longest-block");

/** As settlements write them: rows, entries, balances and sums. */
async function fill(): Promise<void> {
  const store = openEmbeddedStore(join(system.folder, "control-plane"));
  const first = Date.now() - HOUR_MS - ROWS * BETWEEN_MS;
  for (let start = 0; start < ROWS; start += ROWS_AT_ONCE) {
    const rows = Array.from({ length: ROWS_AT_ONCE }, (_, place) => {
      const index = start + place;
      return reportedCall(`call_${String(index).padStart(7, "0")}`, BigInt(COST), {
        createdAt: first + index * BETWEEN_MS,
        organizationId: tenant.organizationId,
        teamId: tenant.teamId,
        apiKeyId: tenant.keyId,
        apiKeyName: index % RARE_EVERY === 0 ? "rare key" : "usual",
        model: index % 10 === 0 ? "other" : "echo",
        status: index % ERRORS_EVERY === 0 ? "error" : "success",
      });
    });
    await settle(store, rows, Date.now());
  }
  await store.close();
}

const logs = (query: string): Promise<Answer> => call(system.url, "GET", `/api/gw/logs?${query}`, { token: tenant.token });

test("searches of a large log neither refuse a paid call nor hold the control plane up", async () => {
  await expectCall(tenant.key);
  process.kill(system.controlPlane.pid, "SIGUSR2");
  const state = { over: false };
  const statuses: Record<string, number> = {};
  const count = ({ status }: Answer) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const callers = [tenant.key, tenant.key, limitedKey].map(async (key, place) => {
    for (let calls = 0; !state.over; calls++) count(await chat(system, key, `caller ${place} call ${calls}`));
  });
  const answers: Record<string, string[]> = {};
  const searchers = [[...SEARCHES, "search=zzzz&format=csv"], SEARCHES.toReversed()].map(async (queries) => {
    for (const query of queries) {
      const startedMs = performance.now();
      const { status, body } = await logs(query);
      const tookMs = Math.round(performance.now() - startedMs);
      answers[query] = [...(answers[query] ?? []), `${status} ${tookMs} ms${body?.meta?.partial ? " partial" : ""}`];
    }
  });
  const ledger = (async () => {
    for (const page of ["page=1", "page=10000", "type=usage"]) {
      const { status } = await call(system.url, "GET", `/api/credits/ledger?${page}`, { token: tenant.token });
      answers[`ledger ${page}`] = [String(status)];
    }
  })();
  await Promise.all([...searchers, ledger]);
  state.over = true;
  await Promise.all(callers);
  const blockMs = Number(readFileSync(blocksFile(), "utf8"));
  printLine(`searches beside calls: ${JSON.stringify(statuses)}, longest block ${blockMs} ms, ${JSON.stringify(answers)}`);
  expect(Object.keys(statuses)).toEqual(["200"]);
  for (const [query, found] of Object.entries(answers)) for (const answer of found) expect(`${query} ${answer}`).toMatch(/ 200/);
  expect(blockMs).toBeLessThan(BLOCK_MS_MAX);
});

test("what a filter finds is exact, and what was not looked at is said to be", async () => {
  const all = (await logs("pageSize=1")).body.meta;
  expect(all).toMatchObject({ partial: false, totalsExact: true });
  expect(all.totals.requests).toBeGreaterThan(ROWS);
  const failed = (await logs("status=error&pageSize=100")).body;
  expect(failed.meta).toMatchObject({ totalsExact: true, total: ROWS / ERRORS_EVERY, totals: { cost: (ROWS / ERRORS_EVERY) * COST } });
  // A walk goes on where an answer ended early, and meets every row once.
  const found: string[] = [];
  let answers = 0;
  for (let next: string | null = ""; next !== null; answers++) {
    const { data, meta }: Answer["body"] = (await logs(`search=rare%20key&pageSize=30${next && `&cursor=${next}`}`)).body;
    found.push(...data.map(({ id }: { id: string }) => id));
    if (data.length < 30 && meta.nextCursor !== null) expect(meta.partial).toBe(true);
    next = meta.nextCursor;
  }
  printLine(`a search through ${ROWS} rows: ${answers} answers`);
  const expected = Array.from({ length: ROWS }, (_, index) => `call_${String(index).padStart(7, "0")}`).filter(
    (_, index) => index % RARE_EVERY === 0,
  );
  expect(found).toEqual(expected.toReversed());
  const csv = (await logs("search=rare%20key&format=csv")).text.trimEnd().split("\r\n");
  expect(csv).toHaveLength(1 + expected.length);
});

test("the books are sound after all of it", async () => {
  const token = await adminToken(system);
  expect((await call(system.url, "GET", "/api/admin/ledger/verify", { token })).body).toMatchObject({ ok: true, sum: 0 });
});

async function expectCall(key: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  while ((await chat(system, key, "first")).status !== 200) {
    expect(performance.now()).toBeLessThan(deadline);
    await sleep(50);
  }
}
