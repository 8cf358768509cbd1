import { streamCall } from "../../test/faults/storm/stream-client.ts";
import { call, newTenant, type Tenant } from "../../test/helpers/api.ts";
import type { Cluster } from "../../test/helpers/cluster.ts";

/** One promise that must hold however many control planes there are. */
export interface LimitReport {
  readonly what: string;
  readonly figure: string;
  readonly holds: boolean;
}

const RPM = 60;
const RPM_CALLS = 150;
const BUDGET_NANO = 1_000_000;
/** 20 words and 9 tokens of input at the price of the words model. */
const CALL_NANO = 49_000;
/** The request has more bytes than the upstream's nine tokens need: a budget holds as far as an upstream counts no more than is reserved. */
const LONG_NAME = "internationalization-administration";
const HELD = { words: 20, betweenMs: 100, maxTokens: 20 };
const SHORT = { words: 2, betweenMs: 1, maxTokens: 2 };

/** Rate limits, budgets and strict credit, with calls spread over all edges. */
export async function checkLimits(cluster: Cluster): Promise<LimitReport[]> {
  return [await rpmHolds(cluster), await budgetHolds(cluster), await strictHolds(cluster)];
}

async function rpmHolds(cluster: Cluster): Promise<LimitReport> {
  const tenant = await newTenant(first(cluster), { name: "rpm", creditNano: 1_000_000_000 });
  // The first calls after a start load code and open connections, for seconds on a small machine.
  await admittedOf(cluster, { key: tenant.key, calls: cluster.urls.length, asked: SHORT });
  const key = await newKey(cluster, tenant, { rpm: RPM });
  const admitted = await admittedOf(cluster, { key, calls: RPM_CALLS, asked: SHORT });
  return { what: `rpm ${RPM}, ${RPM_CALLS} calls`, figure: `${admitted} let through`, holds: admitted === RPM };
}

async function budgetHolds(cluster: Cluster): Promise<LimitReport> {
  const tenant = await newTenant(first(cluster), { name: "budget", creditNano: 1_000_000_000 });
  const key = await newKey(cluster, tenant, { maxBudget: BUDGET_NANO });
  const calls = 80;
  const admitted = await admittedOf(cluster, { key, calls, asked: HELD });
  const spent = 1_000_000_000 - (await balanceOf(first(cluster).url, tenant));
  const figure = `${admitted} let through, ${spent} of ${BUDGET_NANO} spent`;
  return { what: `budget ${BUDGET_NANO}, ${calls} calls of ${CALL_NANO} held open`, figure, holds: admitted > 0 && spent <= BUDGET_NANO };
}

async function strictHolds(cluster: Cluster): Promise<LimitReport> {
  const tenant = await newTenant(first(cluster), { name: "strict", creditNano: BUDGET_NANO });
  // A key with a budget is reserved at the control plane, call by call.
  const key = await newKey(cluster, tenant, { maxBudget: 1_000_000_000 });
  const calls = 80;
  const admitted = await admittedOf(cluster, { key, calls, asked: HELD });
  const balance = await balanceOf(first(cluster).url, tenant);
  return {
    what: `strict credit ${BUDGET_NANO}, ${calls} calls of ${CALL_NANO} held open`,
    figure: `${admitted} let through, balance ${balance}`,
    holds: admitted > 0 && balance >= 0,
  };
}

/** Calls at one edge, reads the balance at the next: every read must know every call that was answered before it. */
export async function readBalances(
  cluster: Cluster,
  { reads, during }: { reads: number; during: () => Promise<void> },
): Promise<LimitReport> {
  const tenant = await newTenant(first(cluster), { name: "reads", creditNano: 1_000_000_000 });
  let expected = 1_000_000_000;
  let [stale, failed, moved] = [0, 0, Promise.resolve()];
  for (let read = 0; read < reads; read++) {
    if (read === Math.floor(reads / 2)) moved = during();
    const [called, asked] = [urlAt(cluster, read), urlAt(cluster, read + 1)];
    const client = await streamCall({ url: called, key: tenant.key, name: `read-${read}`, ...SHORT });
    if (client.costNano === undefined) failed++;
    expected -= client.costNano ?? 0;
    if ((await balanceOf(asked, tenant)) !== expected) stale++;
  }
  await moved;
  return {
    what: `${reads} balance reads, one hand-over`,
    figure: `${stale} stale, ${failed} calls failed`,
    holds: stale === 0 && failed === 0,
  };
}

const urlAt = (cluster: Cluster, index: number) => cluster.urls[index % cluster.urls.length] ?? "";
const first = (cluster: Cluster) => ({ url: urlAt(cluster, 0) });

async function newKey(cluster: Cluster, { token, teamId }: Tenant, limits: object): Promise<string> {
  const body = { name: "limited", team_id: teamId, ...limits };
  const made = await call(first(cluster).url, "POST", "/api/gw/api-keys", { token, body });
  if (made.status !== 201) throw new Error(`no key: ${made.text}`);
  return made.body.key;
}

async function admittedOf(
  cluster: Cluster,
  { key, calls, asked }: { key: string; calls: number; asked: { words: number; betweenMs: number; maxTokens: number } },
): Promise<number> {
  const all = await Promise.all(
    Array.from({ length: calls }, (_, index) => streamCall({ url: urlAt(cluster, index), key, name: `${LONG_NAME}-${index}`, ...asked })),
  );
  return all.filter(({ status }) => status === 200).length;
}

async function balanceOf(url: string, { token }: Tenant): Promise<number> {
  const answer = await call(url, "GET", "/api/quota", { token });
  if (answer.status !== 200) throw new Error(`no balance: ${answer.status} ${answer.text}`);
  return answer.body.quota.balance;
}
