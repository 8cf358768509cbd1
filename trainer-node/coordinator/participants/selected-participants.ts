import { isEligible, type Properties, wantedOf } from "../../../common/training/selection-settings.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { FederationFailed, type FederationRun } from "../deps.ts";
import type { Candidate } from "../own-strategies/own-selection.ts";
import { StrategyProblem } from "../own-strategies/strategy-process.ts";
import { apart, roundSize, selectParticipants } from "../select.ts";
import { ParticipantProblem } from "./participant-problem.ts";
import { withPresentParticipants } from "./present-participants.ts";

const LOOK_MS = { first: 100, max: 2000 };

/**
 * The run of the next round with the participants that the federation's `selection` chooses, of those that are there. It waits until as many
 * as `selection.min` and `minResults` ask for have the properties; one that cannot be asked for its properties now has none.
 */
export async function withSelection(run: FederationRun): Promise<FederationRun> {
  const { deps, control, settings, signal } = run;
  const { selection } = settings;
  if (!selection) return await withPresentParticipants(run);
  const until = deps.clock.now() + settings.startDeadlineMs;
  for (let delayMs = LOOK_MS.first; ; delayMs = Math.min(LOOK_MS.max, delayMs * 2)) {
    // Each time anew: others may have joined an open federation.
    const current = await withPresentParticipants(run);
    const { roots, rest } = apart(current);
    // The result of the root counts, too, though it is not selected.
    const least = Math.max(1, selection.min ?? 1, (settings.minResults ?? 1) - roots.length);
    const eligible = await eligibleOf(current, rest);
    if (eligible.length >= least) return { ...current, chosen: [...roots, ...(await chosenOf(current, eligible, least))] };
    const text = `${eligible.length} of ${least} participants that selection asks for`;
    if (deps.clock.now() >= until)
      throw new FederationFailed("NOT_ENOUGH_PARTICIPANTS", `Only ${text} are there after ${settings.startDeadlineMs} ms.`);
    await control.reportWaiting(`participants: has ${text}`, until);
    await deps.clock.sleep(Math.min(delayMs, Math.max(1, until - deps.clock.now())), signal);
  }
}

interface Eligible extends Candidate {
  readonly participant: Participant;
}

async function eligibleOf(run: FederationRun, participants: readonly Participant[]): Promise<Eligible[]> {
  const { deps, settings } = run;
  const { properties: asked, own } = settings.selection ?? {};
  // Without a need for them no participant is asked for its properties.
  if (!asked && !own) return participants.map((participant) => ({ participant, id: participant.id, properties: {} }));
  const found: (Eligible | undefined)[] = [];
  const waiting = [...participants.entries()];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, participant] = next;
      const properties = await propertiesOf(run, participant);
      if (properties && isEligible(properties, asked)) found[index] = { participant, id: participant.id, properties };
    }
  };
  await Promise.all(Array.from({ length: Math.min(deps.callsMax, participants.length) }, worker));
  return found.filter((one) => one !== undefined);
}

async function propertiesOf({ deps, signal }: FederationRun, participant: Participant): Promise<Properties | undefined> {
  try {
    return (await deps.participants.properties?.(participant, signal)) ?? {};
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof ParticipantProblem) return undefined;
    throw thrown;
  }
}

async function chosenOf(run: FederationRun, eligible: readonly Eligible[], least: number): Promise<Participant[]> {
  const { settings, federation } = run;
  const { fraction, overSelect, seed } = settings;
  const selection = { ...settings.selection, min: least };
  const round = federation.headRound + 1;
  const participants = eligible.map(({ participant }) => participant);
  if (selection.function === undefined) {
    const { asked } = roundSize({ participants: eligible.length, fraction, overSelect, selection });
    return selectParticipants(participants, { count: asked, seed, round });
  }
  const count = wantedOf({ participants: eligible.length, fraction, selection });
  const ids = new Set(await byFunction(run, eligible, { round, count, least }));
  return participants.filter(({ id }) => ids.has(id));
}

async function byFunction(
  { deps, settings, signal }: FederationRun,
  eligible: readonly Eligible[],
  { round, count, least }: { round: number; count: number; least: number },
): Promise<string[]> {
  const { function: name, own, max = eligible.length } = settings.selection ?? {};
  const failed = (message: string) => new FederationFailed("VALIDATION_ERROR", `The selection function ${name} failed: ${message}.`);
  if (!own || !deps.selectByFunction) throw failed("selection functions run in federations only, and need the copy of their source");
  const candidates = eligible.map(({ id, properties }) => ({ id, properties }));
  const ids = await deps.selectByFunction({ own, candidates, round, count }, signal).catch((thrown: unknown) => {
    throw thrown instanceof StrategyProblem ? failed(thrown.message) : thrown;
  });
  if (ids.length < least) throw failed(`it returned ${ids.length} participants, and a round needs ${least} (selection.min, minResults)`);
  if (ids.length > max) throw failed(`it returned ${ids.length} participants, and selection.max is ${max}`);
  return ids;
}
