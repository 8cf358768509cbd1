import { ignore } from "../../common/ignore.ts";
import { canonicalJson } from "../../common/json.ts";
import { wholeDown } from "../../common/strategies/shared/whole.ts";
import { isOpen } from "../../common/training/enrollment-settings.ts";
import { epsilonAfter } from "../../common/training/privacy-account.ts";
import { privacyRules } from "../../common/training/privacy-rules.ts";
import { rootOf } from "../../common/training/root-settings.ts";
import type { RoundRecord } from "../../common/training/round-record.ts";
import type { Federation, Participant, Round, RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { requireBlob } from "./blobs/blob-folder.ts";
import type { FederationRun } from "./deps.ts";
import { evaluateModel } from "./evaluate-model.ts";
import { notEnough } from "./not-enough.ts";
import { requireAllCapabilities } from "./participants/require-capabilities.ts";
import { privacyMode } from "./privacy/modes.ts";
import { apart, quorum, roundSize, sampleParticipants, samplingOf, selectParticipants } from "./select.ts";
import { contributionsOf } from "./updates/contributions.ts";

/**
 * Runs one round from the selection of its participants to its commit. Every step is stored before the next begins: a coordinator that
 * resumes the round finds the same participants and the accepted updates, and asks only for the rest.
 */
export async function runRound(given: FederationRun): Promise<Federation> {
  const { control, settings } = given;
  const chosen = chooseParticipants(given);
  await requireAllCapabilities(given, chosen);
  const round = await control.openRound(chosen.map(({ id }) => id));
  const run = { ...given, openedAt: round.openedAt };
  const wanted = wantedIn(run, round.participants.length);
  const needed = quorum({ minResults: settings.minResults, wanted });
  const accepted = await trainPhase(run, round, { wanted, needed });
  if (accepted.length < needed) throw await notEnough(run, round, `${accepted.length} of ${needed} results.`);
  const root = rootOf(settings.strategy);
  if (root !== undefined && !accepted.some(({ participantId }) => participantId === root))
    throw await notEnough(run, round, `no update of ${root}, whose data set is the root of ${settings.strategy.name}.`);
  const committed = await finishRound(run, round, accepted);
  void stopStragglers(run, round, accepted);
  return committed;
}

const CLOSE_MS = 10_000;

/**
 * Lets participants whose update comes too late stop their training. Only after the commit: until then a coordinator that resumes the round may
 * ask them again. The next round does not wait for this, and neither does the end of the federation, which aborts the run's signal.
 */
async function stopStragglers(
  { deps, members, federation }: FederationRun,
  { round, participants }: Round,
  accepted: readonly RoundParticipant[],
) {
  const done = new Set(accepted.map(({ participantId }) => participantId));
  const late = new Set(participants.map(({ participantId }) => participantId).filter((id) => !done.has(id)));
  const waiting = members.filter(({ id }) => late.has(id));
  const inTime = AbortSignal.timeout(CLOSE_MS);
  const worker = async (): Promise<void> => {
    for (let participant = waiting.shift(); participant; participant = waiting.shift())
      await ignore(
        deps.participants.closeRound?.(participant, `${federation.id}/${round}`, inTime),
        "a participant that is not reached trains in vain, and its update is refused",
      );
  };
  await Promise.all(Array.from({ length: Math.min(deps.callsMax, waiting.length) }, worker));
}

/**
 * How many results a round waits for. That of an open federation, or with a selection, knows only whom it asked: others may have come or gone
 * since, and a coordinator that resumes the round may find other properties. It waits for `minResults` even if there was nobody more to ask.
 */
function wantedIn(run: FederationRun, asked: number): number {
  const { settings } = run;
  if (samplingOf(run)) return asked;
  if (isOpen(settings) || settings.selection) return Math.max(settings.minResults ?? 1, wholeDown(asked / (1 + settings.overSelect)));
  const { rest, roots } = apart(run);
  return roundSize({ participants: rest.length, fraction: settings.fraction, overSelect: 0 }).wanted + roots.length;
}

function chooseParticipants(run: FederationRun): readonly Participant[] {
  const { deps, settings, members, federation } = run;
  if (run.chosen) return run.chosen;
  const sampling = samplingOf(run);
  if (sampling) return sampleParticipants(members, sampling.share, deps.random);
  const { rest, roots } = apart(run);
  const { asked } = roundSize({ participants: rest.length, fraction: settings.fraction, overSelect: settings.overSelect });
  return [...roots, ...selectParticipants(rest, { count: asked, seed: settings.seed, round: federation.headRound + 1 })];
}

/** Aggregates, evaluates and commits a round from its stored updates. */
export async function finishRound(run: FederationRun, { round, state }: Round, accepted: readonly RoundParticipant[]): Promise<Federation> {
  const { control, settings, federation, controls } = run;
  await control.setPhase(round, "aggregating");
  const combined = await privacyMode(settings).combine(run, round, accepted);
  // The threads that aggregate do not know the owner of what they write, and what it is made of may be hidden.
  const blobs = run.deps.blobs.of(federation.organizationId);
  await Promise.all([combined.record.result, combined.stateBlob].map((blob) => blobs.made(blob)));
  const phaseStored = control.setPhase(round, "evaluating");
  // Who evaluates a result with noise has seen it, which counts even if the round is abandoned.
  if (combined.record.made === "noised") await phaseStored;
  const [evaluation] = await Promise.all([
    evaluateModel(run, combined.record.result, `${federation.id}/${round}`, combined.divisor ?? accepted.length),
    phaseStored,
  ]);
  const participants = await contributionsOf(run, accepted, { combined, evaluation });
  run.deps.logger.info(
    { federation: federation.id, round, was: state, updates: accepted.length, accuracy: evaluation.accuracy },
    "round done",
  );
  // A change that is not in the sum of all must not be in that of its participant.
  const countControls = await controls?.add(participants.filter(({ kept }) => kept !== false));
  const committed = await control.commitRound({
    round,
    record: canonicalJson(await withSizes(run, combined.record, accepted)),
    stateBlob: combined.stateBlob,
    participants,
    accuracy: evaluation.accuracy,
    loss: evaluation.loss,
    evaluations: [...evaluation.evaluations],
    epsilon: enforcedEpsilon(run, combined.record),
  });
  await countControls?.();
  await privacyMode(settings).finish(run, round);
  return committed;
}

/** The record with the bytes of the round's updates, as they are aggregated and as they were sent. */
async function withSizes(
  { deps, settings }: FederationRun,
  record: RoundRecord,
  accepted: readonly RoundParticipant[],
): Promise<RoundRecord> {
  if (!settings.compression) return record;
  const sizes = await Promise.all(accepted.map(async ({ updateBlob }) => (await requireBlob(deps.blobs.find, updateBlob)).bytes));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const sent = accepted.reduce((sum, participant) => sum + Number(participant.bytes), 0);
  return { ...record, compression: { ...settings.compression, bytes, bytesSent: sent } };
}

/** What the rounds so far have spent; undefined where no noise was added, whatever was asked for. */
function enforcedEpsilon(run: FederationRun, { round, made }: RoundRecord): number | undefined {
  const { settings, federation } = run;
  const spent = round + federation.spentRounds;
  return settings.dp && privacyRules(settings).isNoised(made) ? epsilonAfter(settings.dp, spent, samplingOf(run)) : undefined;
}

async function trainPhase(run: FederationRun, round: Round, size: { wanted: number; needed: number }): Promise<RoundParticipant[]> {
  const stored = acceptedIn(round);
  // The training phase was complete when the previous coordinator stopped.
  if (round.state === "aggregating" || round.state === "evaluating") return stored;
  // This is stored concurrently: only the end of the training phase must be stored before the result is made.
  const phaseStored = run.control.setPhase(round.round, "training");
  const names = new Set(round.participants.map(({ participantId }) => participantId));
  const done = new Set(stored.map(({ participantId }) => participantId));
  const missing = run.members.filter(({ id }) => names.has(id) && !done.has(id));
  const collected = privacyMode(run.settings).collect(run, {
    round: round.round,
    missing,
    accepted: stored,
    wanted: size.wanted,
    quorum: size.needed,
  });
  const [latest] = await Promise.all([collected, phaseStored]);
  return latest ? acceptedIn(latest) : stored;
}

const acceptedIn = ({ participants }: Round): RoundParticipant[] => participants.filter(({ state }) => state === "accepted");
