import { hash } from "node:crypto";
import { wholeDown } from "../../common/strategies/shared/whole.ts";
import type { FederationSettings } from "../../common/training/federation-settings.ts";
import { roundSize, selectParticipants } from "../coordinator/select.ts";
import type { SimulationOptions } from "./options.ts";
import type { PartialWork } from "./virtual-clients.ts";

/**
 * Stragglers as in Li et al. 2020: in each round the same share of other clients, each with time for 1 to all of its epochs. They are
 * chosen by the seed, so that two strategies get the same ones.
 */
export function stragglersOf({ clients, settings, stragglers }: SimulationOptions): PartialWork {
  if (!stragglers) return () => undefined;
  const members = Array.from({ length: clients }, (_, index) => ({ id: `p${index + 1}` }));
  const late = new Map<number, ReadonlySet<string>>();
  const lateIn = (round: number): ReadonlySet<string> => {
    const known = late.get(round);
    if (known) return known;
    const found = chosenLate(members, { settings, round, share: stragglers.share });
    late.clear();
    late.set(round, found);
    return found;
  };
  return (task, id) => {
    const round = Number(task.roundId.slice(task.roundId.lastIndexOf("/") + 1));
    if (!lateIn(round).has(id)) return undefined;
    const epochs = Number(task.config["epochs"] ?? 1);
    const draw = Number.parseInt(hash("sha256", `work/${settings.seed}/${round}/${id}`, "hex").slice(0, 12), 16) / 2 ** 48;
    return { epochs: 1 + Math.floor(draw * epochs), isLate: stragglers.work === "dropped" };
  };
}

function chosenLate(
  members: readonly { id: string }[],
  { settings, round, share }: { settings: FederationSettings; round: number; share: number },
): ReadonlySet<string> {
  const { fraction, overSelect, selection } = settings;
  const { asked } = roundSize({ participants: members.length, fraction, overSelect, selection });
  const chosen = selectParticipants(members, { count: asked, seed: settings.seed, round });
  const ranked = chosen.map(({ id }) => ({ id, rank: hash("sha256", `late/${settings.seed}/${round}/${id}`, "hex") }));
  const count = wholeDown(chosen.length * share);
  return new Set(
    ranked
      .sort((left, right) => (left.rank < right.rank ? -1 : 1))
      .slice(0, count)
      .map(({ id }) => id),
  );
}
