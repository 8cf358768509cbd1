import { privacyRules } from "../../../common/training/privacy-rules.ts";
import { SECURE_PARTICIPANTS, thresholdOf } from "../../../common/training/secure-settings.ts";
import type { Participant, Round } from "../../../proto/gen/tributary/training/v1/training.ts";
import { layoutOf } from "../../privacy/secure-work.ts";
import { type FederationRun, requireSecure } from "../deps.ts";
import { notEnough } from "../not-enough.ts";
import { LATE } from "../participants/ask-in-turn.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import type { TrainedUpdate } from "../participants/participants.ts";
import { requireCapabilities } from "../participants/require-capabilities.ts";
import { trainTask } from "../train-task.ts";
import { type Collection, resultOf } from "../updates/collect-updates.ts";
import { requireReadable, requireSamples, shapeMismatch, layoutOf as tensorLayout } from "../updates/inspect-update.ts";
import { updateOrigin } from "../updates/update-origin.ts";
import { askAll } from "./in-time.ts";
import { openIntroductions } from "./introductions.ts";
import type { Introduced } from "./participants.ts";
import { findPlan, type SecurePlan, secureRoundId, writePlan } from "./plan.ts";
import { planProblem, weightMaxOf, weightsOf } from "./sum-weights.ts";

const WORD_BYTES = 4;

/**
 * Collects masked updates, which the coordinator cannot read: every participant trains and introduces itself, shares its secrets, and sends
 * its masked update. As with plain updates, each is on disk and recorded in the control plane before it counts, and failures are recorded.
 */
export async function collectMasked(run: FederationRun, collection: Collection): Promise<Round | undefined> {
  const { control, members } = run;
  const { round: number, accepted } = collection;
  let latest: Round | undefined;
  const note: Note = async (participant, result, durationMs) => {
    const isUpdate = !(result instanceof ParticipantProblem);
    const state = isUpdate ? "accepted" : result.message === LATE ? "straggler" : "failed";
    latest = await control.recordResult(number, resultOf(run, participant, { result, state, durationMs, baseRound: number - 1 }));
  };
  const known = await findPlan(run, { round: number, accepted: accepted.length });
  const plan = known ?? (await makePlan(run, { ...collection, roundId: secureRoundId(run, number), note }));
  const done = new Set(accepted.map(({ participantId }) => participantId));
  const missing = members.filter(({ id }) => plan.partners.includes(id) && !done.has(id));
  const weightMax = weightMaxOf(plan.weights);
  const bytes = plan.layout.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0) * WORD_BYTES;
  let count = accepted.length;
  await askAll(run, missing, {
    ask: async (participant, signal) => {
      const weight = plan.weights[participant.id] ?? 0;
      const asked = { partners: plan.partners, factor: weight / weightMax, range: plan.range, bytes, origin: updateOrigin(run.settings) };
      const place = { round: plan.round, client: participant.id };
      return {
        ...(await requireSecure(run).participants.masked(participant, place, asked, signal)),
        samples: plan.samples[participant.id],
      };
    },
    settle: async (participant, result, durationMs) => {
      await note(participant, result, durationMs);
      if (!(result instanceof ParticipantProblem)) count++;
    },
    need: { least: Math.max(plan.threshold, collection.quorum), count: () => count },
  });
  return latest;
}

type Note = (participant: Participant, result: TrainedUpdate | ParticipantProblem, durationMs: number) => Promise<void>;

type Planning = Collection & { readonly roundId: string; readonly note: Note };

/** Fails the federation if too few participants are left for a sum that hides them. */
async function makePlan(run: FederationRun, planning: Planning): Promise<SecurePlan> {
  const { settings, deps } = run;
  const secure = requireSecure(run);
  const { roundId: round, note } = planning;
  const least = leastOf(planning.quorum);
  // Their training would be for nothing.
  if (planning.missing.length < least) throw await tooFew(run, planning, { left: planning.missing.length, least });
  const introduced = await introduceAll(run, planning);
  if (introduced.size < least) throw await tooFew(run, planning, { left: introduced.size, least });
  const everybody = [...introduced.values()].map(({ introduction }) => introduction);
  const threshold = thresholdOf(secure.settings, everybody.length);
  const shares: Record<string, Readonly<Record<string, string>>> = {};
  await askAll(
    run,
    run.members.filter(({ id }) => introduced.has(id)),
    {
      ask: (participant, signal) =>
        secure.participants.shares(participant, { round, client: participant.id }, { everybody, threshold }, signal),
      settle: async (participant, result, durationMs) => {
        if (result instanceof ParticipantProblem) return note(participant, result, durationMs);
        shares[participant.id] = result;
      },
      need: { least: Math.max(threshold, planning.quorum), count: () => Object.keys(shares).length },
    },
  );
  const partners = everybody.map(({ id }) => id).filter((id) => shares[id] !== undefined);
  if (partners.length < threshold) throw await tooFew(run, planning, { left: partners.length, least: threshold });
  // The factors are relative to the heaviest of those that mask, not to one that is away already.
  const masking = new Map([...introduced].filter(([id]) => shares[id] !== undefined));
  const weights = weightsOf(masking, privacyRules(settings).weights);
  const problem = planProblem(weights);
  if (problem !== undefined) throw await notEnough(run, askedIn(planning), problem);
  const [{ layout }] = introduced.values() as unknown as [Introduced];
  const samples = Object.fromEntries([...introduced].flatMap(([id, one]) => (one.samples === undefined ? [] : [[id, one.samples]])));
  const { range } = secure.settings;
  const plan: SecurePlan = { round, everybody, threshold, range, layout, weights, samples, partners, shares };
  await writePlan(deps.blobs, plan);
  return plan;
}

const leastOf = (quorum: number): number => Math.max(SECURE_PARTICIPANTS.min, quorum);

const askedIn = ({ round, missing }: Planning) => ({ round, participants: missing.map(({ id }) => ({ participantId: id })) });

function tooFew(run: FederationRun, planning: Planning, { left, least }: { left: number; least: number }) {
  const why = least === SECURE_PARTICIPANTS.min ? ", because two could compute each other's update" : "";
  return notEnough(
    run,
    askedIn(planning),
    `${left} ${left === 1 ? "participant" : "participants"} left that mask, and ${least} must remain${why}.`,
  );
}

/** The participants that introduced themselves with the round's tensors: those of its base, else those that most of them have. */
async function introduceAll(
  run: FederationRun,
  { missing, wanted, quorum, round, roundId, note }: Planning,
): Promise<Map<string, Introduced>> {
  const { deps, federation } = run;
  const introductions = openIntroductions(federation.headBlob === "" ? undefined : layoutOf(await deps.blobs.read(federation.headBlob)));
  await askAll(run, missing, {
    ask: async (participant, signal) => {
      await requireCapabilities(run, participant, signal);
      const task = trainTask(run, participant, round);
      const one = await requireSecure(run).participants.train(participant, { round: roundId, client: participant.id }, task, signal);
      requireSamples(one.samples, run.settings, participant);
      requireReadable(tensorLayout(one.layout), run.settings);
      introductions.require(one);
      return one;
    },
    settle: async (participant, result, durationMs) => {
      if (result instanceof ParticipantProblem) return note(participant, result, durationMs);
      introductions.add({ participant, introduced: result, durationMs });
    },
    isEnough: () => introductions.count() >= wanted,
    need: { least: leastOf(quorum), count: () => introductions.count() },
  });
  const { fitting, misfits } = introductions.sorted();
  for (const { participant, durationMs } of misfits) await note(participant, shapeMismatch(), durationMs);
  return new Map(fitting.map(({ participant, introduced }) => [participant.id, introduced]));
}
