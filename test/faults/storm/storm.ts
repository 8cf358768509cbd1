import { setTimeout as sleep } from "node:timers/promises";
import { call } from "../../helpers/api.ts";
import { type Chance, chance } from "../chance.ts";
import { type Arena, openArena, refusalsOf } from "./arena.ts";
import type { Verdict } from "./checker.ts";

export interface StormOptions {
  readonly seed: number;
  readonly edges: number;
  /** Streams that run at the same time. */
  readonly streams: number;
  readonly strikes: number;
  /** Between two strikes, on average. */
  readonly everyMs: number;
  /** No strike after that. */
  readonly budgetMs: number;
  readonly journalSync?: "process" | "disk";
}

export interface StormReport extends Verdict {
  /** The errors that refused clients received, and how often. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly strikes: Readonly<Record<string, number>>;
  readonly tookMs: number;
}

const FIRST_CREDIT = 1_000_000_000_000;

/** Real processes under load, killed, stopped and ended at random; then the books against what clients, upstream and payers wrote down. */
export async function storm(options: StormOptions): Promise<StormReport> {
  const startedMs = performance.now();
  const env = { JOURNAL_SYNC: options.journalSync ?? "process" };
  const arena = await openArena({ edges: options.edges, env, creditNano: FIRST_CREDIT });
  try {
    const world: StormWorld = { arena, dice: chance(options.seed), over: false };
    const loads = [...Array.from({ length: options.streams }, (_, index) => callOn(world, index)), payOn(world)];
    const strikes = await strikeOn(world, options);
    world.over = true;
    await Promise.all(loads);
    const { problems, figures } = await arena.audit();
    return { problems, figures, refusals: refusalsOf(arena.clients), strikes, tookMs: performance.now() - startedMs };
  } finally {
    await arena.close();
  }
}

interface StormWorld {
  readonly arena: Arena;
  readonly dice: Chance;
  over: boolean;
}

async function callOn(world: StormWorld, lane: number): Promise<void> {
  const { arena, dice } = world;
  for (let count = 0; !world.over; count++) {
    const words = dice.between(20, 200);
    const leavesAfter = dice.happens(0.08) ? dice.below(words) : undefined;
    const { status } = await arena.stream({ name: `s${lane}-${count}`, words, betweenMs: dice.between(10, 40), leavesAfter });
    if (status !== 200) await sleep(200);
  }
}

/** Buys now and then, each purchase repeated under its key until it is answered. */
async function payOn(world: StormWorld): Promise<void> {
  const { system, tenant, purchases } = world.arena;
  for (let count = 0; !world.over; count++) {
    const amount = 1_000_003 + count;
    purchases.push(amount);
    const headers = { "idempotency-key": `storm-${count}` };
    const body = { amount, method: "test" };
    for (;;) {
      const answer = await call(system.url, "POST", "/api/credits/purchase", { token: tenant.token, headers, body }).catch(() => undefined);
      if (answer?.status === 201) break;
      await sleep(100);
    }
    await sleep(700);
  }
}

type Strike = "kill -9 edge" | "SIGTERM edge" | "SIGSTOP edge" | "kill -9 control plane" | "SIGSTOP control plane";
const STRIKES: readonly Strike[] = [
  "kill -9 edge",
  "kill -9 edge",
  "kill -9 edge",
  "SIGTERM edge",
  "SIGSTOP edge",
  "kill -9 control plane",
  "SIGSTOP control plane",
];

/** An edge that starts needs a control plane for so long: one that is never there proves nothing about edges. */
const REST_MS = 2000;

/** Strikes processes that are not struck already, while calls are running, and never the last edge; returns when every process is back. */
async function strikeOn({ arena, dice }: StormWorld, options: StormOptions): Promise<Record<string, number>> {
  const { upstream } = arena;
  const counts: Record<string, number> = {};
  const busy = new Map<string, Promise<void>>();
  const untilMs = performance.now() + options.budgetMs;
  for (let done = 0; done < options.strikes && performance.now() < untilMs; ) {
    await sleep(dice.between(options.everyMs / 2, options.everyMs * 1.5));
    const what = dice.pick(STRIKES);
    const edge = dice.below(options.edges);
    const target = what.endsWith("edge") ? `edge ${edge}` : "control plane";
    const isLastEdge =
      target !== "control plane" && [...busy.keys()].filter((name) => name !== "control plane").length >= options.edges - 1;
    if (busy.has(target) || isLastEdge || upstream.speaking() < options.streams / 4) continue;
    counts[what] = (counts[what] ?? 0) + 1;
    done++;
    const pauseMs = dice.between(100, 2500);
    busy.set(
      target,
      strike(arena, { what, edge, pauseMs })
        .then(() => sleep(target === "control plane" ? REST_MS : 0))
        .finally(() => busy.delete(target)),
    );
  }
  await Promise.all(busy.values());
  return counts;
}

async function strike({ system, stops }: Arena, { what, edge, pauseMs }: { what: Strike; edge: number; pauseMs: number }): Promise<void> {
  if (what === "kill -9 edge") return await system.killEdge(edge);
  if (what === "SIGTERM edge") return await system.restartEdge(edge);
  if (what === "kill -9 control plane") return await system.killControlPlane();
  const { pid } = what === "SIGSTOP edge" ? (system.edges[edge] ?? system.controlPlane) : system.controlPlane;
  const fromMs = performance.now();
  process.kill(pid, "SIGSTOP");
  await sleep(pauseMs);
  process.kill(pid, "SIGCONT");
  if (what === "SIGSTOP edge") stops.push({ fromMs, untilMs: performance.now() });
}
