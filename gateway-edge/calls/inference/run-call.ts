import type { StreamPart } from "../../upstream/providers/provider.ts";
import type { InferenceCall, InferenceResult } from "./inference-call.ts";
import { type InferenceDeps, runInference } from "./run-inference.ts";

/** Parts of an upstream's stream before the meter. */
export type Screen = (parts: AsyncIterable<StreamPart>) => AsyncIterable<StreamPart>;

/** A call on its way through the layers around the data path. */
export interface LayeredCall<Answer> extends InferenceCall<Answer> {
  /**
   * Applied between an upstream's stream and the meter, once for each attempt. What it throws ends the call as an error; the parts before
   * it are billed.
   */
  readonly screen?: Screen | undefined;
}

/** The data path, or a layer around it: each layer takes the next and returns the same type. */
export type RunCall = <Answer>(call: LayeredCall<Answer>) => Promise<InferenceResult<Answer>>;

/** The innermost function: the data path itself, with the call's screen in its job. */
export function screenedRun(deps: InferenceDeps): RunCall {
  return (call) => {
    const { screen, job } = call;
    if (!screen || !job.stream) return runInference(deps, call);
    const readStream: typeof job.readStream = (...given) => screen(job.readStream(...given) as AsyncIterable<StreamPart>);
    return runInference(deps, { ...call, job: { ...job, readStream } });
  };
}
