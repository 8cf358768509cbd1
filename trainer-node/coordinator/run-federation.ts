import { AppError } from "../../common/errors.ts";
import { compressionProblems } from "../../common/training/compression-settings.ts";
import { isAsynchronous } from "../../common/training/federation-settings.ts";
import { epsilonAfter } from "../../common/training/privacy-account.ts";
import { rootProblems } from "../../common/training/root-settings.ts";
import { selectionProblems } from "../../common/training/selection-settings.ts";
import { strategyClientProblems } from "../../common/training/strategy-clients.ts";
import type { Federation } from "../../proto/gen/tributary/training/v1/training.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";
import { withInitialParameters } from "./initial-parameters.ts";
import { keepingLast } from "./own-strategies/own-selection.ts";
import { withSelection } from "./participants/selected-participants.ts";
import { waitForParticipants } from "./participants/wait-for-participants.ts";
import { AsynchronousRounds } from "./run-asynchronous.ts";
import { runRound } from "./run-round.ts";
import { samplingOf } from "./select.ts";
import { openOwnControls } from "./updates/own-controls.ts";
import { roundsOf } from "./updates/readable-work.ts";

const CREDIT_LOOK_MS = 1000;

/** Runs a federation from its current state to its end. Throws FederationFailed with a message for its owner. */
export async function runFederation(given: FederationRun, { isRoundOpen }: { isRoundOpen: boolean }): Promise<void> {
  const run = withOneSelection(given);
  const { settings, control } = run;
  const [refused] = [
    ...rootProblems({ ...settings, participants: run.members }),
    ...compressionProblems(settings),
    ...selectionProblems({ ...settings, participants: run.members }),
    ...strategyClientProblems({ ...settings, participants: run.members }),
  ];
  if (refused) throw new FederationFailed("VALIDATION_ERROR", `${refused.path.join(".")} ${refused.message}`);
  const progress = await openProgress(run);
  let { federation } = run;
  if (federation.headRound < roundsOf(federation)) {
    if (!isRoundOpen) await waitForParticipants(run);
    federation = await withCredit(run, () => withInitialParameters(run));
  }
  const asynchronous = isAsynchronous(settings) ? new AsynchronousRounds(run) : undefined;
  const controls = openOwnControls(run);
  let isContinued = isRoundOpen;
  const round = async (asked: FederationRun): Promise<Federation> => {
    // A round that is open has its participants already.
    const current = isContinued ? asked : await withSelection(asked);
    return asynchronous?.next(current) ?? runRound(current);
  };
  // The number of rounds is that of the newest state, because a federation can be extended while it runs.
  while (federation.headRound < roundsOf(federation) && !progress.isEnough()) {
    const current = { ...run, federation, controls };
    refuseOverspending(current);
    federation = await withCredit(current, () => round(current));
    isContinued = false;
    progress.add(federation.accuracy);
  }
  await control.complete(roundsOf(federation));
}

/** A round that waits for credit selects each time it looks: its function is a process, and runs again only for other participants. */
function withOneSelection(run: FederationRun): FederationRun {
  const { selectByFunction } = run.deps;
  return selectByFunction ? { ...run, deps: { ...run.deps, selectByFunction: keepingLast(selectByFunction) } } : run;
}

/** The check runs before the round that would exceed the budget. */
function refuseOverspending(run: FederationRun): void {
  const { dp } = run.settings;
  if (dp?.epsilonBudget === undefined) return;
  const { headRound, spentRounds } = run.federation;
  const next = epsilonAfter(dp, headRound + spentRounds + 1, samplingOf(run));
  if (next <= dp.epsilonBudget) return;
  throw new FederationFailed(
    "QUOTA_EXCEEDED",
    `The privacy budget is used up: another round would make epsilon ${next.toFixed(3)}; the budget is ${dp.epsilonBudget}.`,
  );
}

/** A round whose money cannot be reserved waits for credit as it would for participants. */
async function withCredit(run: FederationRun, work: () => Promise<Federation>): Promise<Federation> {
  const { deps, control, settings, signal } = run;
  const until = deps.clock.now() + settings.startDeadlineMs;
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "QUOTA_EXCEEDED") throw thrown;
      // Credit may be added later, but spent privacy does not come back.
      const isPrivacy = thrown.details.some(({ path }) => path === "dp");
      if (isPrivacy || deps.clock.now() >= until) throw new FederationFailed("QUOTA_EXCEEDED", thrown.message);
      await control.reportWaiting(`credit: ${thrown.message}`, until);
      await deps.clock.sleep(CREDIT_LOOK_MS, signal);
    }
  }
}

/**
 * Whether the training reached its goal or stopped improving. It is read from the committed rounds, so that a new coordinator decides as
 * the old one did.
 */
async function openProgress({
  settings,
  control,
  federation,
}: FederationRun): Promise<{ add(accuracy: number | undefined): void; isEnough(): boolean }> {
  const { target, patience } = settings.eval;
  let best = Number.NEGATIVE_INFINITY;
  let rounds = 0;
  let noBetter = 0;
  const add = (accuracy: number | undefined): void => {
    rounds++;
    // A federation that was extended after its end gets at least one more round. One without an accuracy says nothing about the model.
    if (rounds <= federation.extendedAt || accuracy === undefined) return;
    noBetter = accuracy > best ? 0 : noBetter + 1;
    best = Math.max(best, accuracy);
  };
  if (target !== undefined || patience !== undefined) {
    while (rounds < federation.headRound) {
      const page = await control.history(rounds);
      if (page.length === 0) break;
      for (const { accuracy } of page) add(accuracy);
    }
  }
  const isEnough = () => (target !== undefined && best >= target) || (patience !== undefined && noBetter >= patience);
  return { add, isEnough };
}
