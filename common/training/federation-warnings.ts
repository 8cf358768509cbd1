import { findStrategy } from "../strategies/shared/registry.ts";
import { mostParticipants } from "./enrollment-settings.ts";
import { evaluationWarning } from "./evaluation-rules.ts";
import { type FederationSettings, SAMPLES_MAX } from "./federation-settings.ts";
import { privacyRules } from "./privacy-rules.ts";
import { rewardMeasure } from "./reward-settings.ts";

type Asked = Pick<
  FederationSettings,
  "strategy" | "maxSamples" | "rewards" | "dp" | "secureAggregation" | "enrollment" | "maxParticipants"
> &
  Parameters<typeof evaluationWarning>[0];

/** What the owner of a federation should know about settings that are valid and may not do what they seem to. */
export function federationWarnings(asked: Asked): string[] {
  const unmeasured = evaluationWarning(asked);
  return [...sampleWarnings(asked), ...(unmeasured === undefined ? [] : [unmeasured])];
}

/** Of samples without a limit. */
function sampleWarnings(asked: Asked): string[] {
  if (asked.maxSamples !== undefined || mostParticipants(asked) < 2) return [];
  const { name } = asked.strategy;
  const weighs = privacyRules(asked).weights === "samples" && (findStrategy(name)?.usesWeights ?? true);
  const open = `maxSamples is not set, and participants declare their samples themselves, up to ${SAMPLES_MAX}`;
  const weights = `${open}: ${name} weighs updates by them, so one participant can decide the model. Set maxSamples to the most that one has, or use a strategy that weighs all the same, such as trimmed_mean.`;
  const rewards = `${open}: rewards are shared by them, so one participant can get nearly all. Set maxSamples, or rewards.by to cosine or equal.`;
  return [...(weighs ? [weights] : []), ...(rewardMeasure(asked) === "samples" ? [rewards] : [])];
}
