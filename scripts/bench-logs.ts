/**
 * `make bench-logs`: fills a store with ROWS usage rows (1,000,000) of one organization, then filters, searches and pages through its log over HTTP
 * beside RATE paid calls a second (200). Prints a line per query; the first answers, until the log is in memory, are a line of their own. Fails if a later
 * answer takes more than 300 ms or is partial, or if a call is refused or fails. STORE=mongo uses MongoDB.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import { systemClock as clock } from "../common/clock.ts";
import { STORE_FOLDER } from "../control-plane/backup/manifest.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { openMongoStore } from "../control-plane/stores/mongo/store.ts";
import { call, newTenant, type Tenant } from "../test/helpers/api.ts";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../test/helpers/mongod.ts";
import { startProcess } from "../test/helpers/processes.ts";
import { startSystem } from "../test/helpers/system.ts";
import { benchConfig } from "./bench/config-text.ts";
import { fillLogs, logRow, RARE_MODEL } from "./bench/log-rows.ts";

const ROWS = Number(process.env["ROWS"] ?? 1_000_000);
const RATE = Number(process.env["RATE"] ?? 200);
const TIMES = Number(process.env["TIMES"] ?? 8);
const SLOWEST_MS = 300;
const IN_MEMORY_WITHIN_MS = 180_000;
const DATABASE = "bench";
const BODY = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "a question" }] });

type Params = Readonly<Record<string, string>>;

interface LogAnswer {
  readonly ms: number;
  readonly rows: number;
  readonly total: number;
  readonly isPartial: boolean;
  readonly nextCursor: string | undefined;
}

const folder = mkdtempSync(join(tmpdir(), "tributary-logs-"));
const upstream = startProcess({ entry: "scripts/bench/upstream.ts", env: {}, name: "upstream" });
const config = join(folder, "config.yaml");
writeFileSync(config, benchConfig(`http://127.0.0.1:${(await upstream.ready).port}`));
const mongo = await openMongo();
const system = await startSystem({
  env: { CONFIG: config, LOG_LEVEL: "warn" },
  ...(mongo ? { mongoUri: mongo.uri, mongoDatabase: DATABASE } : {}),
});
try {
  const tenant = await newTenant(system, { creditNano: 1_000_000_000_000 });
  const filling = { rows: ROWS, organizationId: tenant.organizationId, teamId: tenant.teamId, now: clock.now() };
  await system.killControlPlane(async () => {
    const store = mongo
      ? await openMongoStore({ uri: mongo.uri, database: DATABASE })
      : openEmbeddedStore(join(system.folder, STORE_FOLDER));
    await timed(`${ROWS} rows written`, () => fillLogs(store, filling));
    await store.close();
  });
  await untilAnswered(tenant.token);
  process.exitCode = (await measure(tenant, logRow(ROWS >> 1, filling).id)) ? 0 : 1;
} finally {
  await system.stop();
  await upstream.stop("SIGKILL");
  await mongo?.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function openMongo(): Promise<ReplicaSet | undefined> {
  if (process.env["STORE"] !== "mongo") return undefined;
  if ((await requireMongod()) === undefined) throw new Error("STORE=mongo needs a mongod");
  return startReplicaSet({ nodes: 1, folder: join(folder, "mongo") });
}

/** The edge finds the control plane again. */
async function untilAnswered(token: string): Promise<void> {
  const sinceMs = clock.monotonicMs();
  for (;;) {
    const { status, text } = await call(system.url, "GET", "/api/gw/teams", { token });
    if (status === 200) return;
    if (clock.monotonicMs() - sinceMs > IN_MEMORY_WITHIN_MS) throw new Error(`the edge answers ${status}: ${text}`);
    await clock.sleep(200);
  }
}

/** Returns whether every answer was quick and whole, and every call was answered. */
async function measure(tenant: Tenant, someId: string): Promise<boolean> {
  const over = new AbortController();
  const load = paidCalls(tenant.key, over.signal);
  console.log("query                          p50 ms  slowest ms     rows  partial");
  await untilInMemory(tenant.token);
  let isQuick = true;
  for (const [name, params] of queries(someId)) isQuick = printLine(name, await repeat(tenant.token, params)) && isQuick;
  isQuick = printLine("20 pages by cursor", await pages(tenant.token, { model: "gpt-4o" })) && isQuick;
  over.abort();
  const { made, refused, failed, p99Ms } = await load;
  console.log(`calls beside it: ${made} made, ${refused} refused, ${failed} failed, p99 ${p99Ms.toFixed(0)} ms`);
  return isQuick && refused + failed === 0;
}

function queries(someId: string): readonly (readonly [string, Params])[] {
  const hourAgo = new Date(clock.now() - 3_600_000).toISOString();
  return [
    ["all", {}],
    ["status error", { status: "error" }],
    ["status refused", { status: "refused" }],
    ["model, common", { model: "gpt-4o" }],
    ["model, rare", { model: RARE_MODEL }],
    ["model, unknown", { model: "none" }],
    ["provider", { provider: "groq" }],
    ["key", { apiKey: "key_bench7" }],
    ["key, model and status", { apiKey: "key_bench7", model: "gpt-4o", status: "error" }],
    ["last hour", { startDate: hourAgo }],
    ["search: model", { search: "claude" }],
    ["search: end user", { search: "user-4999" }],
    ["search: tag", { search: "nightly" }],
    ["search: call id", { search: someId }],
    ["search: part of a call id", { search: someId.slice(5, -2) }],
    ["search: nothing", { search: "zzzz" }],
    ["search and status", { search: "user-77", status: "error" }],
    ["page 200", { page: "200" }],
    ["by cost", { sort: "-cost" }],
    ["errors by latency", { status: "error", sort: "-latencyMs" }],
    ["search by tokens", { search: "claude", sort: "-tokens" }],
  ];
}

/** The first queries scan the store, within their budget; one of them has the log read into memory. */
async function untilInMemory(token: string): Promise<void> {
  const answers: LogAnswer[] = [];
  const sinceMs = clock.monotonicMs();
  for (;;) {
    const answer = await ask(token, { search: "zzzz" });
    answers.push(answer);
    if (!answer.isPartial && answer.ms < SLOWEST_MS) break;
    if (clock.monotonicMs() - sinceMs > IN_MEMORY_WITHIN_MS) throw new Error("the log is not in memory in time");
    await clock.sleep(5_000);
  }
  printLine("before it is in memory", answers.slice(0, -1));
  console.log(`in memory after ${((clock.monotonicMs() - sinceMs) / 1000).toFixed(1)} s`);
}

async function repeat(token: string, params: Params): Promise<LogAnswer[]> {
  const answers: LogAnswer[] = [];
  for (let time = 0; time < TIMES; time++) answers.push(await ask(token, params));
  return answers;
}

async function pages(token: string, params: Params): Promise<LogAnswer[]> {
  const answers: LogAnswer[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 20; page++) {
    const answer = await ask(token, { ...params, ...(cursor === undefined ? {} : { cursor }) });
    answers.push(answer);
    cursor = answer.nextCursor;
  }
  return answers;
}

async function ask(token: string, params: Params): Promise<LogAnswer> {
  const beganMs = clock.monotonicMs();
  const { status, body, text } = await call(system.url, "GET", `/api/gw/logs?${new URLSearchParams({ pageSize: "100", ...params })}`, {
    token,
  });
  const ms = clock.monotonicMs() - beganMs;
  if (status !== 200) throw new Error(`${JSON.stringify(params)} answered ${status}: ${text}`);
  const { meta, data } = body;
  return {
    ms,
    rows: data.length,
    total: meta.total,
    isPartial: meta.partial || !meta.totalsExact,
    nextCursor: meta.nextCursor ?? undefined,
  };
}

/** Returns whether every answer was quick and whole. */
function printLine(name: string, answers: readonly LogAnswer[]): boolean {
  const times = answers.map(({ ms }) => ms).sort((left, right) => left - right);
  const [p50, slowest] = [times[times.length >> 1] ?? 0, times.at(-1) ?? 0];
  const isPartial = answers.some((answer) => answer.isPartial);
  const cells = [p50.toFixed(0).padStart(8), slowest.toFixed(0).padStart(10), String(answers.at(-1)?.total ?? 0).padStart(9)];
  console.log(`${name.padEnd(28)} ${cells.join(" ")}  ${isPartial ? "yes" : "no"}`);
  return slowest <= SLOWEST_MS && !isPartial;
}

/** Calls at the rate until the signal, each on its own. */
async function paidCalls(key: string, signal: AbortSignal): Promise<{ made: number; refused: number; failed: number; p99Ms: number }> {
  const pool = new Pool(system.url, { connections: 64 });
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const send = async (): Promise<{ status: number; ms: number }> => {
    const beganMs = clock.monotonicMs();
    const status = await pool.request({ path: "/v1/chat/completions", method: "POST", headers, body: BODY }).then(
      async ({ statusCode, body }) => {
        await body.dump();
        return statusCode;
      },
      () => 0,
    );
    return { status, ms: clock.monotonicMs() - beganMs };
  };
  const calls: Promise<{ status: number; ms: number }>[] = [];
  const beganMs = clock.monotonicMs();
  while (!signal.aborted) {
    const due = Math.floor(((clock.monotonicMs() - beganMs) * RATE) / 1000);
    while (calls.length < due) calls.push(send());
    await clock.sleep(2);
  }
  const outcomes = await Promise.all(calls);
  await pool.close();
  const times = outcomes.map(({ ms }) => ms).sort((left, right) => left - right);
  return {
    made: outcomes.length,
    refused: outcomes.filter(({ status }) => status >= 400).length,
    failed: outcomes.filter(({ status }) => status === 0).length,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
  };
}

async function timed(name: string, work: () => Promise<void>): Promise<void> {
  const beganMs = clock.monotonicMs();
  await work();
  console.log(`${name} in ${((clock.monotonicMs() - beganMs) / 1000).toFixed(1)} s`);
}
