import type { Clock } from "../../common/clock.ts";
import { TrainerError } from "../errors.ts";
import type { Introduction, RoundSecrets } from "../privacy/secure-sum.ts";
import type { ModelLayout } from "../privacy/secure-work.ts";

/** The update that this node trained for a secure sum, and its secrets of that round. Neither leaves the node unmasked. */
export interface HiddenUpdate {
  readonly secrets: RoundSecrets;
  /** Undefined after this node answered `help`: from then on the update may not leave the node, masked or not. */
  update: Uint8Array | undefined;
  readonly layout: ModelLayout;
  /** Fields of the training's answer that may be sent unmasked. */
  readonly fields: Readonly<Record<string, unknown>>;
  group?: { readonly everybody: readonly Introduction[]; readonly threshold: number; readonly shares: Readonly<Record<string, string>> };
  /** The participants whose masks are in what this node sent. */
  partners?: readonly Introduction[];
  /** The request of each step. A second answer to a different request would reveal what the masks hide. */
  readonly asked: Map<string, string>;
}

/** Hidden updates, in memory only. A node that restarts has dropped out of its round. */
export interface HiddenUpdates {
  /** Returns the update of that round and client. The first call makes it; concurrent calls wait for the same one. */
  begin(place: string, make: () => Promise<HiddenUpdate>): Promise<HiddenUpdate>;
  find(place: string): Promise<HiddenUpdate>;
}

interface HiddenEntry {
  readonly atMs: number;
  readonly made: Promise<HiddenUpdate>;
  /** Set when the update is ready. */
  found: HiddenUpdate | undefined;
}

const KEEP_MS = 24 * 3_600_000;

/** Creates the store of hidden updates with a limit on bytes and age. */
export function createHiddenUpdates({ clock, bytesMax }: { clock: Clock; bytesMax: number }): HiddenUpdates {
  const held = new Map<string, HiddenEntry>();
  const bytesOf = (found: HiddenUpdate | undefined) => found?.update?.byteLength ?? 0;
  const forgetOld = (): void => {
    let bytes = [...held.values()].reduce((sum, { found }) => sum + bytesOf(found), 0);
    for (const [place, { atMs, found }] of held) {
      if (bytes <= bytesMax && clock.monotonicMs() - atMs <= KEEP_MS) return;
      bytes -= bytesOf(found);
      held.delete(place);
    }
  };
  return {
    begin: async (place, make) => {
      const known = held.get(place);
      if (known) return known.made;
      const entry: HiddenEntry = { atMs: clock.monotonicMs(), found: undefined, made: make() };
      held.set(place, entry);
      try {
        entry.found = await entry.made;
        forgetOld();
      } catch (thrown) {
        // A failed training can be tried again.
        held.delete(place);
        throw thrown;
      }
      return entry.made;
    },
    find: async (place) => {
      forgetOld();
      const found = held.get(place);
      if (found) return found.made;
      throw new TrainerError(
        "ROUND_CLOSED",
        "This node has nothing of that round: it restarted since, or the round ended long ago. Leave it out of the sum.",
      );
    },
  };
}

/** A step may be repeated with the same request, because answers get lost; a different request is refused. */
export function refuseChangedRequest({ asked }: HiddenUpdate, step: string, text: string): void {
  const before = asked.get(step);
  if (before !== undefined && before !== text) {
    throw new TrainerError(
      "IDEMPOTENCY_CONFLICT",
      `${step} was requested with another body before. A second, different answer would reveal the update.`,
    );
  }
  asked.set(step, text);
}
