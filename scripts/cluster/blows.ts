import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, Member } from "../../test/helpers/cluster.ts";
import { isAccepted, isOk, type Load, type LoadCall } from "./load.ts";

/** Something that happens to a part of the cluster. */
export interface Blow {
  readonly target: string;
  readonly what: string;
  /** The edge whose open streams are lost with it. */
  readonly lostEdge?: number;
  /** Strikes, waits until others have taken over, and brings the part back. */
  run(): Promise<void>;
}

export interface BlowReport {
  readonly target: string;
  readonly what: string;
  readonly calls: number;
  /** Calls that an edge accepted and that did not end well, without those in `lost`. */
  readonly failed: number;
  /** Open streams of an edge that was killed. */
  readonly lost: number;
  /** From the blow until calls that began after it end well and none fails any more; undefined if that never came. */
  readonly recoveredMs: number | undefined;
  /** What failed calls got, and how often. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** How long a part is away: longer than the silence after which it counts as dead. */
const AWAY_MS = 8000;
const QUIET_MS = 2000;

const BLOWS: Readonly<Record<string, (member: Member) => Promise<void>>> = {
  killed: async (member) => {
    await member.process.kill9();
    await sleep(AWAY_MS);
    await member.start();
  },
  stopped: async ({ process: { pid } }) => {
    process.kill(pid, "SIGSTOP");
    await sleep(AWAY_MS);
    process.kill(pid, "SIGCONT");
  },
  terminated: async (member) => {
    const { code } = await member.process.stop();
    if (code !== 0) throw new Error(`${member.role} ${member.index} ended with ${code}`);
    await member.start();
  },
};

/** Every role killed, stopped and terminated, and the store's primary killed, stopped and stepped down. */
export function allBlows(cluster: Cluster): Blow[] {
  const roles = ["control plane", "edge", "trainer", "coordinator"] as const;
  const members = roles.flatMap((role) => cluster.membersOf(role).slice(0, role === "control plane" ? undefined : 1));
  return [
    ...members.flatMap((member) =>
      Object.entries(BLOWS).map(([what, strike]) => ({
        target: `${member.role} ${member.index + 1}`,
        what,
        ...(member.role === "edge" && what === "killed" ? { lostEdge: member.index } : {}),
        run: () => strike(member),
      })),
    ),
    ...storeBlows(cluster),
  ];
}

function storeBlows({ store }: Cluster): Blow[] {
  const target = "MongoDB primary";
  return [
    {
      target,
      what: "killed",
      run: async () => {
        const primary = await store.primary();
        await store.kill(primary);
        await untilOther(store, primary);
        await store.restart(primary);
      },
    },
    {
      target,
      what: "stopped",
      run: async () => {
        const primary = await store.primary();
        store.pause(primary);
        await untilOther(store, primary);
        store.resume(primary);
      },
    },
    {
      target,
      what: "stepped down",
      run: async () => {
        const primary = await store.primary();
        await store.stepDown();
        await untilOther(store, primary);
      },
    },
  ];
}

async function untilOther(store: Cluster["store"], old: number): Promise<void> {
  while ((await store.primary()) === old) await sleep(50);
}

/** One blow under load, and what the clients saw of it. */
export async function strike(blow: Blow, load: Load): Promise<BlowReport> {
  await sleep(QUIET_MS);
  const first = load.calls.length;
  const struckMs = performance.now();
  await blow.run();
  await sleep(QUIET_MS);
  const during = load.calls.slice(first);
  const bad = during.filter((call) => isAccepted(call) && !isOk(call));
  const lost = bad.filter(({ edge, client }) => edge === blow.lostEdge && client.broken);
  const failures = bad.filter((call) => !lost.includes(call));
  const lastBadMs = Math.max(struckMs, ...bad.map(({ endedMs }) => endedMs));
  const next = during.find((call) => isOk(call) && call.startedMs >= struckMs && call.endedMs >= lastBadMs);
  return {
    target: blow.target,
    what: blow.what,
    calls: during.length,
    failed: failures.length,
    lost: lost.length,
    recoveredMs: next && Math.round(next.endedMs - struckMs),
    reasons: reasonsOf(failures),
  };
}

function reasonsOf(failures: readonly LoadCall[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { client } of failures) {
    const message = /"message":"([^"]*)"/.exec(client.error ?? "")?.[1] ?? (client.broken ? "broken" : "ended early");
    counts[`${client.status} ${message}`] = (counts[`${client.status} ${message}`] ?? 0) + 1;
  }
  return counts;
}
