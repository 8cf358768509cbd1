import type { Clock } from "../../../common/clock.ts";
import type { RouterSettings } from "./settings.ts";

/** Which deployment last served a prompt prefix, or a key: its prompt cache may still be warm. Limited; the oldest entry is evicted first. */
export interface Affinity {
  preferred(call: AffinityCall, settings: RouterSettings): string | undefined;
  served(call: AffinityCall, deploymentId: string, settings: RouterSettings): void;
}

export interface AffinityCall {
  readonly group: string;
  readonly keyId: string;
  readonly promptHash: string | undefined;
}

/** Providers store a prompt cache for about this long after its last use. */
const PROMPT_MS = 300_000;

export function createAffinity(clock: Clock, entriesMax: number): Affinity {
  const entries = new Map<string, { deploymentId: string; untilMs: number }>();

  function read(name: string): string | undefined {
    const entry = entries.get(name);
    if (entry && entry.untilMs > clock.monotonicMs()) return entry.deploymentId;
    entries.delete(name);
    return undefined;
  }

  function write(name: string, deploymentId: string, milliseconds: number): void {
    entries.delete(name);
    entries.set(name, { deploymentId, untilMs: clock.monotonicMs() + milliseconds });
    const [oldest] = entries.keys();
    if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
  }

  return {
    preferred(call, settings) {
      const byPrompt = settings.promptAffinity && call.promptHash !== undefined ? read(promptName(call)) : undefined;
      return byPrompt ?? (settings.deploymentAffinity ? read(keyName(call)) : undefined);
    },
    served(call, deploymentId, settings) {
      if (settings.promptAffinity && call.promptHash !== undefined) write(promptName(call), deploymentId, PROMPT_MS);
      if (settings.deploymentAffinity) write(keyName(call), deploymentId, settings.deploymentAffinityMs);
    },
  };
}

/** Includes the key: requests of another team must not show in which deployment answers, and so in how fast it does. */
function promptName({ group, keyId, promptHash }: AffinityCall): string {
  return JSON.stringify([group, keyId, promptHash]);
}

function keyName({ group, keyId }: AffinityCall): string {
  return JSON.stringify([group, keyId]);
}
