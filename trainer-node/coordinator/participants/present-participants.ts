import { wholeUp } from "../../../common/strategies/shared/whole.ts";
import { isOpen } from "../../../common/training/enrollment-settings.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import { membersOf } from "./joined-work.ts";

const LOOK_MS = { first: 100, max: 2000 };

/** The members that are there now, if the federation is open; else all of them, because each is expected. */
export function presentMembers({ deps, settings, members }: Pick<FederationRun, "deps" | "settings" | "members">): readonly Participant[] {
  return isOpen(settings) ? members.filter((member) => deps.participants.isPresent?.(member) ?? true) : members;
}

/** How many participants must be there for a round to begin. A `selection` asks for `minResults` of them whatever the fraction. */
function leastParticipants({ minParticipants = 1, minResults = 1, fraction, selection }: FederationRun["settings"]): number {
  if (selection) return Math.max(minParticipants, minResults);
  return Math.max(minParticipants, wholeUp(minResults / fraction));
}

/**
 * The run of the next round. In an open federation its members are the participants that are there now; it waits until they are at least
 * `minParticipants`, and enough for `minResults`. Participants that joined since the last round are among them, and those that left are not waited for.
 */
export async function withPresentParticipants(run: FederationRun): Promise<FederationRun> {
  const { deps, control, settings, signal } = run;
  if (!isOpen(settings)) return run;
  const { startDeadlineMs } = settings;
  const least = leastParticipants(settings);
  const until = deps.clock.now() + startDeadlineMs;
  for (let delayMs = LOOK_MS.first; ; delayMs = Math.min(LOOK_MS.max, delayMs * 2)) {
    const federation = { ...run.federation, participants: await control.participants() };
    const members = presentMembers({ ...run, members: membersOf(federation) });
    if (members.length >= least) return { ...run, federation, members };
    if (deps.clock.now() >= until) {
      const text = `Only ${members.length} of ${least} participants are there after ${startDeadlineMs} ms.`;
      throw new FederationFailed("NOT_ENOUGH_PARTICIPANTS", text);
    }
    await control.reportWaiting(`participants: has ${members.length} of ${least} that the join link brings`, until);
    await deps.clock.sleep(Math.min(delayMs, Math.max(1, until - deps.clock.now())), signal);
  }
}
