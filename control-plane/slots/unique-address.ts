import type { Clock } from "../../common/clock.ts";
import { ConfigError } from "../../common/config.ts";
import type { OwnershipRows } from "../stores/ownership-rows.ts";
import type { Plane } from "./slots.ts";

/** Longer than two beats, and shorter than the row of a plane that died counts as living. */
const WATCH_MS = 2_500;
const LOOK_MS = 250;

/**
 * Throws if another control plane that beats has this one's address: edges and other planes would send its calls here. The row of a plane
 * that died at this address does not change while it is watched, so a restart waits for that and goes on.
 */
export async function refuseTakenAddress({ rows, clock, self }: { rows: OwnershipRows; clock: Clock; self: Plane }): Promise<void> {
  const beatsNow = async () =>
    new Map(
      (await rows.planes()).filter(({ id, address }) => id !== self.id && address === self.address).map(({ id, beat }) => [id, beat]),
    );
  const first = await beatsNow();
  const endMs = clock.monotonicMs() + WATCH_MS;
  while (first.size > 0 && clock.monotonicMs() < endMs) {
    await clock.sleep(LOOK_MS);
    for (const [id, beat] of await beatsNow()) if (first.get(id) !== beat) throw taken(self.address);
  }
}

function taken(address: string): ConfigError {
  return new ConfigError([
    `CONTROL_ADVERTISE: another control plane of this store lives at ${address}. Each needs an address of its own, at which the others and all edges reach it.`,
  ]);
}
