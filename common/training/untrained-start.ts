import type { FederationSettings } from "./federation-settings.ts";

/**
 * Where the untrained parameters came from that round 1 of a federation starts from: made by the coordinator of a built-in task, its seed and
 * the shape of a named dataset, so that each party can make them again, or given by a participant, which says itself that they hold nothing of its
 * data.
 */
export type UntrainedStart =
  | { readonly by: "coordinator"; readonly config: Readonly<Record<string, unknown>>; readonly dataset: unknown }
  | { readonly by: "participant"; readonly participantId: string };

/** Whether round 1 starts from untrained parameters: central noise clips the change from a base, so there is one from round 1 on. */
export const startsUntrained = ({ dp, initial }: Pick<FederationSettings, "dp" | "initial">): boolean =>
  dp?.mode === "central" && initial === undefined;

/** Why a federation whose participants can give no untrained parameters cannot start. */
export const NO_UNTRAINED_START =
  "dp.mode central clips the change from the parameters that a round starts from, and no participant can give untrained ones: capabilities of its /v1/info must have initial, as those of trainer nodes with built-in tasks and of participants with an initial function have. Set initial to a blob, a model or a federation";

/** The metric of an answer with untrained parameters, so that trained ones are never taken for them. */
export const UNTRAINED_METRIC = "untrained";
