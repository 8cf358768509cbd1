import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../../helpers/api.ts";
import { type ReplicaSet, startReplicaSet } from "../../helpers/mongod.ts";
import { type Arena, openArena, refusalsOf } from "./arena.ts";
import type { Verdict } from "./checker.ts";

export interface PrimaryReport extends Verdict {
  /** By what was done to the primary: calls that began while there was none and were served, and those that were not. */
  readonly outages: readonly Outage[];
  readonly refusals: Readonly<Record<string, number>>;
}

export interface Outage {
  readonly what: "kill" | "stop";
  readonly served: number;
  readonly failed: number;
  /** Until another node was primary. */
  readonly electionMs: number;
  /** From the strike until the ledger had calls again. */
  readonly settledAfterMs: number;
}

const LANES = 8;
const OUTAGE_MAX_MS = 60_000;
const [BUSY_MS, BUSY_CALLS, BUSY_MS_MAX] = [3000, 150, 30_000];

/** A replica set of three whose primary is killed, and stopped, while calls run: they are served on leases and settled afterwards. */
export async function losePrimary(
  strikes: readonly Outage["what"][],
  { electionTimeoutMs = 2000 }: { electionTimeoutMs?: number } = {},
): Promise<PrimaryReport> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-primary-"));
  const set = await startReplicaSet({ nodes: 3, folder, electionTimeoutMs });
  try {
    const arena = await openArena({ edges: 2, creditNano: 100_000_000_000, mongoUri: set.uri });
    try {
      return await strikePrimary(arena, set, strikes);
    } finally {
      await arena.close();
    }
  } finally {
    await set.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function strikePrimary(arena: Arena, set: ReplicaSet, strikes: readonly Outage["what"][]): Promise<PrimaryReport> {
  const state = { over: false };
  const load = Array.from({ length: LANES }, (_, lane) => callOn(arena, lane, state));
  const outages: Outage[] = [];
  for (const what of strikes) {
    await untilBusy(arena);
    outages.push(await outage(arena, set, what));
  }
  state.over = true;
  await Promise.all(load);
  const { problems, figures } = await arena.audit();
  return { problems, figures, outages, refusals: refusalsOf(arena.clients) };
}

/** Long enough, and enough calls on a slow machine, for the leases that a busy organization keeps. */
async function untilBusy({ clients }: Arena): Promise<void> {
  const [begunMs, before] = [performance.now(), clients.length];
  while (performance.now() - begunMs < BUSY_MS || (clients.length - before < BUSY_CALLS && performance.now() - begunMs < BUSY_MS_MAX))
    await sleep(50);
}

async function callOn(arena: Arena, lane: number, state: { readonly over: boolean }): Promise<void> {
  for (let count = 0; !state.over; count++) {
    const { status } = await arena.stream({ name: `m${lane}-${count}`, words: 20, betweenMs: 10, maxTokens: 40 });
    if (status !== 200) await sleep(100);
  }
}

async function outage(arena: Arena, set: ReplicaSet, what: Outage["what"]): Promise<Outage> {
  const primary = await set.primary();
  const before = arena.clients.length;
  const struckMs = performance.now();
  if (what === "kill") await set.kill(primary);
  else set.pause(primary);
  const election = untilOther(set, primary).then(() => Math.round(performance.now() - struckMs));
  const settledAfterMs = await untilSettling(arena, { before, struckMs });
  const electionMs = await election;
  const during = arena.clients.slice(before);
  const served = during.filter(({ done, error }) => done && error === undefined).length;
  if (what === "kill") await set.restart(primary);
  else set.resume(primary);
  return { what, served, failed: during.length - served, electionMs, settledAfterMs };
}

async function untilOther(set: ReplicaSet, old: number): Promise<void> {
  // A stopped primary does not answer and is not counted; one that was killed is gone.
  while ((await set.primary()) === old) await sleep(50);
}

/** Until the log, read through the platform, has a call that ended after the strike. */
async function untilSettling(
  { system, tenant, clients }: Arena,
  { before, struckMs }: { before: number; struckMs: number },
): Promise<number> {
  while (performance.now() - struckMs < OUTAGE_MAX_MS) {
    const answer = await call(system.url, "GET", "/api/gw/logs?pageSize=100", { token: tenant.token }).catch(() => undefined);
    const ended = new Set(clients.slice(before).map(({ callId }) => callId));
    const rows: readonly { callId: string }[] = answer?.status === 200 ? answer.body.data : [];
    if (rows.some(({ callId }) => ended.has(callId))) return Math.round(performance.now() - struckMs);
    await sleep(50);
  }
  throw new Error(`nothing was settled ${OUTAGE_MAX_MS} ms after the primary was lost`);
}
