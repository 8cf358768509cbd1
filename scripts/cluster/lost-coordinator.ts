import { setTimeout as sleep } from "node:timers/promises";
import { call, newTenant } from "../../test/helpers/api.ts";
import type { Cluster, Member } from "../../test/helpers/cluster.ts";
import { startFederation } from "./federation.ts";
import type { LimitReport } from "./limits.ts";

const ROUNDS = 12;
const LOST_IN = 6;
const LOOK_MS = 20;

/** A federation whose coordinator is killed and loses its disk in the middle of a round; another one continues from copies. */
export async function loseCoordinator(cluster: Cluster): Promise<LimitReport> {
  const [url = ""] = cluster.urls;
  const { token } = await newTenant({ url }, { name: "federation", creditNano: 1_000_000_000 });
  const federation = await startFederation(cluster, { url, token, rounds: ROUNDS });
  const { id } = federation;
  await federation.when(({ head }) => head?.round >= LOST_IN - 1);
  const holder = await holderOf(cluster, id);
  await holder.process.kill9();
  holder.loseDisk();
  const { round } = (await call(url, "GET", `/training/federations/${id}`, { token })).body.federation;
  const { state, head, waitingFor } = await federation.ended();
  const { ok, rounds, remade } = (await call(url, "GET", `/training/federations/${id}/verify`, { token })).body;
  const figure = `${state}, ${head?.round} rounds, verify ${ok === true ? "ok" : "NOT ok"} (${remade} of ${rounds} remade)${waitingFor ? `, ${waitingFor}` : ""}`;
  const holds = state === "completed" && head.round === ROUNDS && ok === true && rounds === ROUNDS;
  return { what: `coordinator's host lost in round ${round} of ${ROUNDS}`, figure, holds };
}

/** The coordinator that committed a round of the federation, by its log. */
async function holderOf(cluster: Cluster, id: string): Promise<Member> {
  for (;;) {
    const found = cluster
      .membersOf("coordinator")
      .find(({ process }) => process.stderr.split("\n").some((line) => line.includes("round done") && line.includes(id)));
    if (found) return found;
    await sleep(LOOK_MS);
  }
}
