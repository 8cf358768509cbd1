import { setTimeout as sleep } from "node:timers/promises";
import { call, newTenant } from "../../test/helpers/api.ts";
import type { Cluster, Member } from "../../test/helpers/cluster.ts";
import { federationWhen } from "../../test/helpers/federations.ts";
import { TRAINER_TOKEN } from "../../test/helpers/system.ts";
import type { LimitReport } from "./limits.ts";

const ROUNDS = 12;
const LOST_IN = 6;
const LOOK_MS = 20;
const END_MAX_MS = 120_000;

/** A federation whose coordinator is killed and loses its disk in the middle of a round; another one continues from copies. */
export async function loseCoordinator(cluster: Cluster): Promise<LimitReport> {
  const [url = ""] = cluster.urls;
  const { token } = await newTenant({ url }, { name: "federation", creditNano: 1_000_000_000 });
  const task = { name: "softmax", config: { epochs: 20 }, dataset: { name: "digits", partition: { scheme: "iid" } } };
  const participants = cluster.membersOf("trainer").map(({ address }) => ({ url: `https://${address}`, token: TRAINER_TOKEN }));
  const body = { task, rounds: ROUNDS, minResults: participants.length, participants };
  const created = await call(url, "POST", "/training/federations", { token, body });
  if (created.status !== 201) throw new Error(`no federation: ${created.status} ${created.text}`);
  const { id } = created.body.federation;
  const look = { token, id, withinMs: END_MAX_MS };
  await federationWhen({ url }, { ...look, isDone: ({ head }) => head?.round >= LOST_IN - 1 });
  const holder = await holderOf(cluster, id);
  await holder.process.kill9();
  holder.loseDisk();
  const { round } = (await call(url, "GET", `/training/federations/${id}`, { token })).body.federation;
  const { state, head, waitingFor } = await federationWhen(
    { url },
    { ...look, isDone: ({ state: now }) => now === "completed" || now === "failed" },
  );
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
