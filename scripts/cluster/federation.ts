import { call } from "../../test/helpers/api.ts";
import type { Cluster } from "../../test/helpers/cluster.ts";
import { federationWhen } from "../../test/helpers/federations.ts";
import { TRAINER_TOKEN } from "../../test/helpers/system.ts";

const END_MAX_MS = 120_000;

type SeenFederation = Awaited<ReturnType<typeof federationWhen>>;

/** A federation that a cluster works on. */
export interface ClusterFederation {
  readonly id: string;
  when(isDone: (seen: SeenFederation) => boolean): Promise<SeenFederation>;
  ended(): Promise<SeenFederation>;
}

/** Starts a federation over all trainers of a cluster, every one of which each round needs. */
export async function startFederation(
  cluster: Cluster,
  { url, token, rounds }: { url: string; token: string; rounds: number },
): Promise<ClusterFederation> {
  const task = { name: "softmax", config: { epochs: 20 }, dataset: { name: "digits", partition: { scheme: "iid" } } };
  const participants = cluster.membersOf("trainer").map(({ address }) => ({ url: `https://${address}`, token: TRAINER_TOKEN }));
  const body = { task, rounds, minResults: participants.length, participants };
  const created = await call(url, "POST", "/training/federations", { token, body });
  if (created.status !== 201) throw new Error(`no federation: ${created.status} ${created.text}`);
  const { id } = created.body.federation;
  const when = (isDone: (seen: SeenFederation) => boolean) => federationWhen({ url }, { token, id, withinMs: END_MAX_MS, isDone });
  return { id, when, ended: () => when(({ state }) => state === "completed" || state === "failed") };
}
