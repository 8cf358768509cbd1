import { strategyNamed } from "../../../common/strategies/shared/registry.ts";
import { computingNeed } from "../../../common/training/federation-needs.ts";
import { type FederationSettings, SAMPLES_MAX } from "../../../common/training/federation-settings.ts";
import type { Metrics } from "../../../common/training/metrics.ts";
import { privacyRules } from "../../../common/training/privacy-rules.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { FoundTensors } from "../../blobs/passing-tensors.ts";
import { decodeParameters } from "../../codec/parameters.ts";
import { InputProblem } from "../../compute/problem.ts";
import { type DType, firstNonFinite, isFloat, isFloatType, type TensorHeader } from "../../compute/tensor.ts";
import { TrainerError } from "../../errors.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";

/**
 * The names, types and shapes of an update's tensors; updates with equal layouts can be aggregated. "opaque": only participants can read
 * it.
 */
export type Layout = string;
/** The layout of opaque parameters. */
export const OPAQUE: Layout = "opaque";

/** Inspects an update before it counts, so that an update that cannot be aggregated fails its participant and not the round. */
export function inspectUpdate(bytes: Uint8Array): Layout {
  if (bytes.byteLength === 0) throw new ParticipantProblem("its parameters are empty", { again: false });
  try {
    const { tensors } = decodeParameters(bytes);
    for (const tensor of tensors) {
      if (isFloat(tensor) && firstNonFinite(tensor.data) >= 0) throw nonFinite(tensor.name);
    }
    return layoutOf(tensors);
  } catch (thrown) {
    // The parameters are opaque and never unpickled; the participants can aggregate them.
    if (thrown instanceof TrainerError && thrown.kind === "UNSUPPORTED_PARAMETERS") return OPAQUE;
    if (thrown instanceof InputProblem || thrown instanceof TrainerError) throw new ParticipantProblem(thrown.message, { again: false });
    throw thrown;
  }
}

/** The problem of an update with a NaN or infinity. */
export const nonFinite = (name: string): ParticipantProblem =>
  new ParticipantProblem(`NON_FINITE: tensor "${name}" has a NaN or infinity`, { again: false });

/** The layout found while the update arrived; undefined if the whole update has to be read. */
export function layoutOfFound(found: FoundTensors | undefined): Layout | undefined {
  if (found?.nonFinite !== undefined) throw nonFinite(found.nonFinite);
  return found && layoutOf(found.tensors);
}

/** The layout of these tensors. */
export function layoutOf(tensors: readonly TensorHeader[]): Layout {
  return JSON.stringify(tensors.map(({ name, dtype, shape }) => [name, dtype, [...shape]]).sort());
}

/**
 * Refuses an update that the federation must compute with and cannot: opaque bytes and, under noise, integers, which noise does not cover, and floats
 * that are too narrow for it.
 * Only a plain mean may be delegated to participants.
 */
export function requireReadable(found: Layout, settings: Pick<FederationSettings, "dp" | "secureAggregation" | "strategy">): void {
  const need = computingNeed(settings);
  if (need !== undefined && found === OPAQUE) throw unreadable(need);
  const { computes, wideFloats } = privacyRules(settings);
  if (computes === undefined || found === OPAQUE) return;
  const integers = tensorOf(found, (dtype) => !isFloatType(dtype));
  if (integers) throw unsupported(`its tensor "${integers.name}" is not of floats, and ${need}`);
  const narrow = wideFloats ? tensorOf(found, (dtype) => NARROW.includes(dtype)) : undefined;
  if (!narrow) return;
  const what = `its tensor "${narrow.name}" has dtype ${narrow.dtype}, to which a result is rounded before its noise; ${computes} needs f32 or f64`;
  throw new ParticipantProblem(`${UNSUPPORTED}: ${what}`, { again: false });
}

/** The problem of opaque parameters that `need` computes with. */
export const unreadable = (need: string): ParticipantProblem =>
  unsupported(`the coordinator cannot read its parameters (a pickle?), and ${need}`);

const unsupported = (what: string): ParticipantProblem =>
  new ParticipantProblem(`${UNSUPPORTED}: ${what} has to compute with floats; send float tensors as safetensors, npz or npy`, {
    again: false,
  });

/** The prefix of the reason for updates that a federation cannot compute with. */
export const UNSUPPORTED = "UNSUPPORTED_PARAMETERS";

const NARROW: readonly DType[] = ["f16", "bf16"];

function tensorOf(layout: Layout, matches: (dtype: DType) => boolean): { name: string; dtype: DType } | undefined {
  const tensors = JSON.parse(layout) as [name: string, dtype: DType, shape: number[]][];
  const [name, dtype] = tensors.find((tensor) => matches(tensor[1])) ?? [];
  return name === undefined || dtype === undefined ? undefined : { name, dtype };
}

/**
 * Refuses a sample count above the federation's `maxSamples`, or above what the participant agreed to when it enrolled, because it is
 * self-declared and decides weights and rewards.
 */
export function requireSamples(
  samples: number | undefined,
  settings: Pick<FederationSettings, "maxSamples">,
  { maxSamples: agreed }: Pick<Participant, "maxSamples">,
): void {
  const maxSamples = agreed === undefined ? settings.maxSamples : Number(agreed);
  if (samples === undefined || samples <= (maxSamples ?? SAMPLES_MAX)) return;
  const limit = maxSamples === undefined ? `${SAMPLES_MAX}, the limit without maxSamples` : `maxSamples, ${maxSamples}`;
  throw new ParticipantProblem(`TOO_MANY_SAMPLES: it declares ${samples} samples, which is above ${limit}`, { again: false });
}

/** Refuses an update without a metric that the strategy computes with, or with one that it cannot compute with. */
export function requireMetrics(metrics: Metrics = {}, { strategy }: Pick<FederationSettings, "strategy">): void {
  const { metrics: needed, metricProblem } = strategyNamed(strategy.name);
  const missing = needed?.find((name) => metrics[name] === undefined);
  if (missing !== undefined)
    throw new ParticipantProblem(`MISSING_METRIC: its metrics have no number ${missing}, which ${strategy.name} needs`, { again: false });
  const problem = metricProblem?.(strategy, metrics);
  if (problem !== undefined) throw new ParticipantProblem(`BAD_METRIC: its ${problem}`, { again: false });
}

/** Refuses an update whose layout differs from the expected one. */
export function requireLayout(found: Layout, expected: Layout | undefined): void {
  if (expected === undefined || found === expected) return;
  if (found === OPAQUE)
    throw new ParticipantProblem("its parameters are opaque, but those of the round are not; it must send the same format", {
      again: false,
    });
  throw shapeMismatch();
}

/** The problem of tensors that cannot be aggregated with those of the others. */
export const shapeMismatch = (): ParticipantProblem =>
  new ParticipantProblem(`${SHAPE_MISMATCH}: its tensors have other names, types or shapes than the others'`, { again: false });

/** The prefix of the reason for updates that differ from the others. */
export const SHAPE_MISMATCH = "SHAPE_MISMATCH";
