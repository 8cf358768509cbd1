import { computingNeed } from "../../../common/federation-needs.ts";
import type { FederationSettings } from "../../../common/federation-settings.ts";
import { privacyRules } from "../../../common/privacy-rules.ts";
import type { FoundTensors } from "../../blobs/passing-tensors.ts";
import { decodeParameters } from "../../codec/parameters.ts";
import { InputProblem } from "../../compute/problem.ts";
import { type DType, firstNonFinite, isFloat, isFloatType, type TensorHeader } from "../../compute/tensor.ts";
import { TrainerError } from "../../errors.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";

/** What an update looks like from outside; equal for all updates that can be combined. "opaque": only participants can read it. */
export type Layout = string;
export const OPAQUE: Layout = "opaque";

/** Looked at before it counts: what cannot be combined with the others is one participant's failure, not the round's. */
export function inspectUpdate(bytes: Uint8Array): Layout {
  if (bytes.byteLength === 0) throw new ParticipantProblem("its parameters are empty", { again: false });
  try {
    const { tensors } = decodeParameters(bytes);
    for (const tensor of tensors) {
      if (isFloat(tensor) && firstNonFinite(tensor.data) >= 0) throw nonFinite(tensor.name);
    }
    return layoutOf(tensors);
  } catch (thrown) {
    // Not ours to read, and never unpickled; those who sent it can combine it.
    if (thrown instanceof TrainerError && thrown.kind === "UNSUPPORTED_PARAMETERS") return OPAQUE;
    if (thrown instanceof InputProblem || thrown instanceof TrainerError) throw new ParticipantProblem(thrown.message, { again: false });
    throw thrown;
  }
}

export const nonFinite = (name: string): ParticipantProblem =>
  new ParticipantProblem(`NON_FINITE: tensor "${name}" has a NaN or infinity`, { again: false });

/** The same of what was looked at in passing; undefined where the whole has to be read. */
export function layoutOfFound(found: FoundTensors | undefined): Layout | undefined {
  if (found?.nonFinite !== undefined) throw nonFinite(found.nonFinite);
  return found && layoutOf(found.tensors);
}

export function layoutOf(tensors: readonly TensorHeader[]): Layout {
  return JSON.stringify(tensors.map(({ name, dtype, shape }) => [name, dtype, [...shape]]).sort());
}

/**
 * Refuses an update that the federation has to compute with and cannot: opaque bytes, and under noise integers, which noise does not cover. Only
 * a plain mean may be left to the participants.
 */
export function requireReadable(found: Layout, settings: Pick<FederationSettings, "dp" | "secureAggregation" | "strategy">): void {
  const need = computingNeed(settings);
  if (need !== undefined && found === OPAQUE) throw unsupported(`the coordinator cannot read its parameters (a pickle?), and ${need}`);
  const integers = privacyRules(settings).computes !== undefined && found !== OPAQUE ? integerTensorIn(found) : undefined;
  if (integers !== undefined) throw unsupported(`its tensor "${integers}" is not of floats, and ${need}`);
}

const unsupported = (what: string): ParticipantProblem =>
  new ParticipantProblem(`${UNSUPPORTED}: ${what} has to compute with floats; send float tensors as safetensors, npz or npy`, {
    again: false,
  });

/** How the reason of an update begins that a federation cannot compute with. */
export const UNSUPPORTED = "UNSUPPORTED_PARAMETERS";

function integerTensorIn(layout: Layout): string | undefined {
  const tensors = JSON.parse(layout) as [name: string, dtype: DType, shape: number[]][];
  return tensors.find(([, dtype]) => !isFloatType(dtype))?.[0];
}

export function requireLayout(found: Layout, expected: Layout | undefined): void {
  if (expected === undefined || found === expected) return;
  if (found === OPAQUE)
    throw new ParticipantProblem("its parameters are of a kind that the others' are not, and nobody here can read", { again: false });
  throw new ParticipantProblem("SHAPE_MISMATCH: its tensors are not named, typed and shaped as the others' are", { again: false });
}
