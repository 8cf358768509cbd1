import { isOpen } from "../../../common/training/enrollment-settings.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import { privacyMode } from "../privacy/modes.ts";
import { quorum, roundSize } from "../select.ts";
import { isJoinAddress } from "./joined-work.ts";
import { requireCapabilities } from "./require-capabilities.ts";

const PROBE_MS = { first: 200, max: 2000 };
/** Participants that are started together become reachable within this time. */
const TOGETHER_MS = 2000;
const REASONS_LENGTH_MAX = 500;

/**
 * Waits until enough participants are reachable, and reports how many are, why the others are not, and the deadline. If the federation does
 * not set `minResults`, it waits for all participants of a round: for unreachable addresses a moment, for joining participants until the
 * start deadline. An open federation waits before each of its rounds instead (present-participants.ts), and so does one that selects by
 * properties or a function (selected-participants.ts), which need not ask all that are listed.
 */
export async function waitForParticipants(run: FederationRun): Promise<void> {
  const { deps, control, settings, members, federation, signal } = run;
  const { fraction, selection } = settings;
  if (isOpen(settings) || selection?.properties || selection?.function !== undefined) return;
  const { wanted } = roundSize({ participants: federation.participants.length, fraction, overSelect: 0, selection });
  const least = quorum({ minResults: settings.minResults, wanted });
  const startedAt = deps.clock.now();
  const until = startedAt + settings.startDeadlineMs;
  for (let delayMs = PROBE_MS.first; ; delayMs = Math.min(PROBE_MS.max, delayMs * 2)) {
    const reasons = await Promise.all(members.map((participant) => reachable(run, participant)));
    const there = reasons.filter((reason) => reason === undefined).length;
    const mayJoin = members.some(({ url }, index) => isJoinAddress(url) && reasons[index] !== undefined);
    const now = deps.clock.now();
    const isPatient = settings.minResults === undefined && now < until && (mayJoin || now < startedAt + TOGETHER_MS);
    const needed = isPatient ? wanted : least;
    if (there >= needed) return;
    const away = reasons.flatMap((reason, index) => (reason === undefined ? [] : [`${members[index]?.id}: ${reason}`])).join("; ");
    if (now >= until) {
      const text = `Only ${there} of ${needed} participants are reachable after ${settings.startDeadlineMs} ms. ${away}`;
      throw new FederationFailed("NOT_ENOUGH_PARTICIPANTS", text.slice(0, 1000));
    }
    await control.reportWaiting(`participants: has ${there} of ${needed} (${away.slice(0, REASONS_LENGTH_MAX)})`, until);
    await deps.clock.sleep(Math.min(delayMs, Math.max(1, until - deps.clock.now())), signal);
  }
}

/** Undefined if the participant is reachable, else the reason. */
async function reachable(run: FederationRun, participant: FederationRun["members"][number]): Promise<string | undefined> {
  const { settings, signal } = run;
  try {
    await privacyMode(settings).reach(run, participant, signal);
    await requireCapabilities(run, participant, signal);
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof FederationFailed) throw thrown;
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}
