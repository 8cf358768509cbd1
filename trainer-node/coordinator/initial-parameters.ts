import { initialProblems } from "../../common/training/initial-settings.ts";
import { startsUntrained } from "../../common/training/untrained-start.ts";
import type { Federation } from "../../proto/gen/tributary/training/v1/training.ts";
import type { InitialParameters } from "./control.ts";
import { FederationFailed, type FederationRun } from "./deps.ts";
import { askForParameters } from "./participants/ask-for-parameters.ts";
import { trainTask } from "./train-task.ts";
import { untrainedParameters } from "./untrained-parameters.ts";
import { withFittingControls } from "./updates/fitting-controls.ts";
import { UNSUPPORTED } from "./updates/inspect-update.ts";
import { initialProblem } from "./updates/parameters-problem.ts";

/**
 * The federation with the parameters that its first round starts from: those that were named at its creation, those that one participant
 * gives, or untrained ones if its privacy needs a base. They are checked before the first round, because all participants receive them.
 */
export async function withInitialParameters(run: FederationRun): Promise<Federation> {
  const { deps, control, settings, federation } = run;
  const isUntrained = startsUntrained(settings);
  if ((!settings.initial && !isUntrained) || federation.headRound > 0) return federation;
  const { headBlob, initialStart } = federation;
  const found = isUntrained ? untrainedParameters : askedParameters;
  const given = headBlob === "" ? await control.setInitial(await found(run)) : { blob: headBlob, start: initialStart };
  const results = deps.blobs.of(federation.organizationId);
  await results.made(given.blob);
  const problem = await initialProblem(deps.blobs, given.blob, settings);
  if (problem === undefined) {
    const fitting = await withFittingControls(deps.blobs, given.blob, settings);
    await results.made(fitting);
    if (fitting !== given.blob) await results.copied([fitting], { isReferenced: false }, run.signal);
    return { ...federation, headBlob: fitting, initialBlob: fitting, initialStart: given.start };
  }
  throw new FederationFailed(problem.startsWith(UNSUPPORTED) ? UNSUPPORTED : "VALIDATION_ERROR", unusable(problem));
}

const unusable = (problem: string): string => `The initial parameters cannot be used: ${problem}`;

/** What one participant trains without parameters. */
async function askedParameters(run: FederationRun): Promise<InitialParameters> {
  const { settings, members } = run;
  const { initial } = settings;
  const [refused] = initialProblems({ ...settings, participants: members });
  const participant = initial && "participant" in initial ? members[initial.participant] : undefined;
  if (refused || !participant) throw new FederationFailed("VALIDATION_ERROR", `initial.participant ${refused?.message ?? "is missing"}`);
  const { blob } = await askForParameters(run, participant, trainTask(run, participant, 0));
  return { blob, start: "" };
}
