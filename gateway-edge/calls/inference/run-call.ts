import type { StreamPart } from "../../upstream/providers/provider.ts";
import { type InferenceCall, type InferenceDeps, type InferenceResult, runInference } from "./run-inference.ts";

/** Parts of an upstream's stream, on their way to whoever meters them. */
export type Screen = (parts: AsyncIterable<StreamPart>) => AsyncIterable<StreamPart>;

/** A call on its way through the layers around the data path. */
export interface LayeredCall<Answer> extends InferenceCall<Answer> {
  /** Stands between an upstream's stream and the meter, once for each attempt; what it throws ends the call as an error, paid as far as it came. */
  readonly screen?: Screen | undefined;
}

/** The data path, or a layer around it: each takes the next and gives the same. */
export type RunCall = <Answer>(call: LayeredCall<Answer>) => Promise<InferenceResult<Answer>>;

/** The innermost: the data path itself, with the call's screen in its job. */
export function screenedRun(deps: InferenceDeps): RunCall {
  return (call) => {
    const { screen, job } = call;
    if (!screen || !job.stream) return runInference(deps, call);
    const readStream: typeof job.readStream = (...given) => screen(job.readStream(...given) as AsyncIterable<StreamPart>);
    return runInference(deps, { ...call, job: { ...job, readStream } });
  };
}
