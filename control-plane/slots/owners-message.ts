import type { SlotOwners } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Slots } from "./slots.ts";

/** Who owns what, for one stream: in its first message and after each change. A store with one slot has one owner, so nothing is sent. */
export function ownersForStream(slots: Slots): () => SlotOwners | undefined {
  let sent = -1;
  return () => {
    if (slots.count === 1 || slots.version === sent) return undefined;
    sent = slots.version;
    return ownersMessage(slots);
  };
}

function ownersMessage(slots: Slots): SlotOwners {
  const planes = slots.planes().map(({ id, address }) => ({ id, address }));
  const owners = Array.from({ length: slots.count }, (_, slot) => slots.ownerOf(slot));
  return {
    planes,
    owners: owners.map((owner) => (owner === undefined ? 0 : planes.findIndex(({ id }) => id === owner.id) + 1)),
    epochs: owners.map((owner) => BigInt(owner?.epoch ?? 0)),
  };
}
