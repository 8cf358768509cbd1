import type { TraceParent } from "./traceparent.ts";

/** The samplers of OTEL_TRACES_SAMPLER. */
export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Decides whether the spans of a trace are exported. */
export type Sampler = (traceId: string, parent: TraceParent | undefined) => boolean;

type Root = (traceId: string) => boolean;

const PARENT_BASED = "parentbased_";
/** The last 52 bits of a trace id, which are random by W3C's definition and exact in a number. */
const RANDOM_DIGITS = 13;
const RANDOM_SPAN = 16 ** RANDOM_DIGITS;

/** A sampler by its name. `share` is that of traces that the ratio samplers choose; every process chooses the same ones. */
export function createSampler(name: (typeof SAMPLERS)[number], share: number): Sampler {
  const isParentBased = name.startsWith(PARENT_BASED);
  const root = rootSampler(isParentBased ? name.slice(PARENT_BASED.length) : name, share);
  return (traceId, parent) => (isParentBased && parent ? parent.isSampled : root(traceId));
}

function rootSampler(name: string, share: number): Root {
  if (name !== "traceidratio") return () => name === "always_on";
  const threshold = (1 - share) * RANDOM_SPAN;
  return (traceId) => Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= threshold;
}
