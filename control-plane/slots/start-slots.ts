import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";
import type { Fence } from "../stores/fence.ts";
import type { Store } from "../stores/store.ts";
import { Ownership } from "./ownership.ts";
import { allSlots, type Plane, type Slots } from "./slots.ts";
import { refuseTakenAddress } from "./unique-address.ts";

/** A fence for a store that is opened before its slots are known: until then this plane owns none. */
export class LateFence implements Fence {
  slots: Slots | undefined;

  epochOf(slot: number): number | undefined {
    return this.slots?.epochOf(slot);
  }
}

/** The slots of this control plane. Resolves when it has taken those that are free. */
export async function startSlots(
  { store, clock, logger, self }: { store: Store; clock: Clock; logger: Logger; self: Plane },
  fence: LateFence,
): Promise<Slots> {
  const { ownership: rows, slots: count } = store;
  if (rows === undefined) return allSlots({ count, self });
  // A port that the system chooses is not known yet, and no other process has it.
  if (!self.address.endsWith(":0")) await refuseTakenAddress({ rows, clock, self });
  const ownership = new Ownership({ rows, clock, logger, self, count });
  fence.slots = ownership;
  await ownership.start();
  return ownership;
}
