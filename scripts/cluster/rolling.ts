import { streamCall } from "../../test/faults/storm/stream-client.ts";
import { newTenant, type Tenant } from "../../test/helpers/api.ts";
import type { Cluster, ClusterRole, Member } from "../../test/helpers/cluster.ts";
import { type Blow, type BlowReport, strike } from "./blows.ts";
import { startFederation } from "./federation.ts";
import type { LimitReport } from "./limits.ts";
import type { Load } from "./load.ts";

/** Longer than the drain of any process. */
const STOP_MAX_MS = 150_000;
const STREAM_MS = 90_000;
const WORD_MS = 100;
const ROUNDS = 20;

/** What restarts are made with. */
export interface Restarts {
  readonly roles: readonly ClusterRole[];
  readonly load: Load;
  /** Shows a report as soon as it is there, and says whether it is good. */
  shown(report: BlowReport): Promise<boolean>;
  /** Another release. */
  readonly code?: Release;
}

/** The code of a release; without a folder it is this repository's. */
export interface Release {
  readonly name: string;
  readonly root: string | undefined;
}

/** Restarts every process of some roles under load, each when the one before is ready again. */
export async function restartAll(cluster: Cluster, { roles, load, shown, code }: Restarts): Promise<boolean> {
  let holds = true;
  for (const member of roles.flatMap((role) => cluster.membersOf(role))) {
    holds = (await shown(await strike(restartOf(member, code), load))) && holds;
  }
  return holds;
}

/** A restart, from the code of another release if one is given. */
function restartOf(member: Member, code: Release | undefined): Blow {
  return {
    target: `${member.role} ${member.index + 1}`,
    what: code ? `to ${code.name}` : "restarted",
    run: async () => {
      const { code: exit } = await member.process.stop("SIGTERM", STOP_MAX_MS);
      if (exit !== 0) throw new Error(`${member.role} ${member.index + 1} ended with ${exit}: ${member.process.stderr.slice(-2000)}`);
      await member.start(code);
    },
  };
}

/** A stream of 90 s through the first edge, which gets SIGTERM meanwhile. */
export function followStream(cluster: Cluster, { key }: Tenant): () => Promise<LimitReport> {
  const [url = ""] = cluster.urls;
  const [edge] = cluster.membersOf("edge");
  const words = STREAM_MS / WORD_MS;
  const { pid } = edge?.process ?? {};
  const report = streamCall({ url, key, name: "long", words, betweenMs: WORD_MS, maxTokens: words + 1 }).then((call) => {
    const seconds = ((call.cameAtMs.at(-1) ?? 0) - (call.cameAtMs[0] ?? 0)) / 1000;
    const isWhole = call.done && call.error === undefined && call.words === words;
    const wasStopped = edge?.process.pid !== pid || edge?.process.stderr.includes("stopping") === true;
    return {
      what: "a stream of 90 s through an edge that gets SIGTERM",
      figure: `${call.words} of ${words} words in ${seconds.toFixed(0)} s${call.error ? `, ${call.error}` : ""}${wasStopped ? "" : ", the edge was not stopped in time"}`,
      holds: isWhole && wasStopped,
    };
  });
  return () => report;
}

/** A federation over all trainers that runs while they and the coordinators are restarted. */
export async function followFederation(cluster: Cluster): Promise<() => Promise<LimitReport>> {
  const [url = ""] = cluster.urls;
  const { token } = await newTenant({ url }, { name: "rolling", creditNano: 1_000_000_000 });
  const federation = await startFederation(cluster, { url, token, rounds: ROUNDS });
  return async () => {
    const { state, head, failure } = await federation.ended();
    const figure = `${state}, ${head?.round} of ${ROUNDS} rounds${failure ? `, ${failure.message}` : ""}`;
    return { what: "a federation over all trainers", figure, holds: state === "completed" && head?.round === ROUNDS };
  };
}
