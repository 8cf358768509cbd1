import { FederationFailed, type FederationRun } from "./deps.ts";
import { quorum, roundSize } from "./select.ts";

const LOOK_MS = { first: 200, max: 2000 };

/** Waits until enough participants can be reached to begin, and says all the while how many there are and until when it waits. */
export async function waitForParticipants(run: FederationRun): Promise<void> {
  const { deps, control, settings, members, federation, signal } = run;
  const { wanted } = roundSize({ participants: federation.participants.length, fraction: settings.fraction, overSelect: 0 });
  const needed = quorum({ minResults: settings.minResults, wanted });
  const until = deps.clock.now() + settings.startDeadlineMs;
  for (let delayMs = LOOK_MS.first; ; delayMs = Math.min(LOOK_MS.max, delayMs * 2)) {
    const reasons = await Promise.all(members.map((participant) => reachable(run, participant)));
    const there = reasons.filter((reason) => reason === undefined).length;
    if (there >= needed) return;
    const away = reasons.flatMap((reason, index) => (reason === undefined ? [] : [`${members[index]?.id}: ${reason}`]));
    if (deps.clock.now() >= until) {
      const text = `It has ${there} of ${needed} participants after ${settings.startDeadlineMs} ms. ${away.join("; ")}`;
      throw new FederationFailed("NOT_ENOUGH_PARTICIPANTS", text.slice(0, 1000));
    }
    await control.reportWaiting(`participants: has ${there} of ${needed}`, until);
    await deps.clock.sleep(Math.min(delayMs, Math.max(1, until - deps.clock.now())), signal);
  }
}

/** Undefined where it is; else why not. */
async function reachable({ deps, signal }: FederationRun, participant: FederationRun["members"][number]): Promise<string | undefined> {
  try {
    await deps.participants.reach(participant, signal);
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}
