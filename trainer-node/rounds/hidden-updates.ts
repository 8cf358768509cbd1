import type { Clock } from "../../common/clock.ts";
import { TrainerError } from "../errors.ts";
import type { Introduction, RoundSecrets } from "../privacy/secure-sum.ts";
import type { ModelLayout } from "../privacy/secure-work.ts";

/** What this node trained for a round in which nobody may see it, and its secrets of that round. */
export interface HiddenUpdate {
  readonly secrets: RoundSecrets;
  /** Undefined once this node has helped: nobody is to have it any more, masked or not. */
  update: Uint8Array | undefined;
  readonly layout: ModelLayout;
  /** Of the training's answer: what may be told. */
  readonly fields: Readonly<Record<string, unknown>>;
  group?: { readonly everybody: readonly Introduction[]; readonly threshold: number; readonly shares: Readonly<Record<string, string>> };
  /** By step, what was asked. Asked for something else, a step would tell what the masks hide. */
  readonly asked: Map<string, string>;
}

/** In memory only, and gone with the process: to its round a node that starts again is one that dropped out. */
export interface HiddenUpdates {
  /** The one of that place; made where there is none, once however often it is asked for. */
  begin(place: string, make: () => Promise<HiddenUpdate>): Promise<HiddenUpdate>;
  find(place: string): Promise<HiddenUpdate>;
}

interface Held {
  readonly atMs: number;
  readonly made: Promise<HiddenUpdate>;
  /** Once it is made. */
  found: HiddenUpdate | undefined;
}

const KEEP_MS = 24 * 3_600_000;

export function createHiddenUpdates({ clock, bytesMax }: { clock: Clock; bytesMax: number }): HiddenUpdates {
  const held = new Map<string, Held>();
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
      const entry: Held = { atMs: clock.monotonicMs(), found: undefined, made: make() };
      held.set(place, entry);
      try {
        entry.found = await entry.made;
        forgetOld();
      } catch (thrown) {
        // What failed can be tried again.
        held.delete(place);
        throw thrown;
      }
      return entry.made;
    },
    find: async (place) => {
      forgetOld();
      const found = held.get(place);
      if (found) return found.made;
      throw new TrainerError("ROUND_CLOSED", "This node has nothing of that round: it was started since, or the round is long over.");
    },
  };
}

/** The same step may be asked for again in the same words, for answers get lost. */
export function refuseOtherWords({ asked }: HiddenUpdate, step: string, words: string): void {
  const before = asked.get(step);
  if (before !== undefined && before !== words) {
    throw new TrainerError(
      "IDEMPOTENCY_CONFLICT",
      `${step} was asked for with other words before; answered twice it would tell the update.`,
    );
  }
  asked.set(step, words);
}
