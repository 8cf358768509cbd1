import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../test/helpers/cluster.ts";
import type { Cut, PlaneNetworks } from "../../test/helpers/plane-networks.ts";
import type { Blow } from "./blows.ts";

/** Longer than the silence after which a control plane counts as dead. */
const CUT_MS = 10_000;
const HEALED_MS = 5_000;
const CUTS: readonly Cut[] = ["store", "edges", "planes", "everything"];

/** Each control plane cut off from the store, from the edges, from the other planes and from all of them, and one that hears nothing. */
export function partitionsOf(cluster: Cluster, networks: PlaneNetworks): Blow[] {
  return cluster.membersOf("control plane").flatMap(({ index }) => {
    const blow = (what: string, separate: () => void): Blow => ({
      target: `control plane ${index + 1}`,
      what,
      run: async () => {
        separate();
        await sleep(CUT_MS);
        networks.heal(index);
        await sleep(HEALED_MS);
      },
    });
    return [
      ...CUTS.map((from) => blow(`not to ${from}`, () => networks.cut(index, from))),
      blow("hears nothing", () => networks.silence(index)),
    ];
  });
}
